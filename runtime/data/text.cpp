#include "runtime/data/text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/share.h"

namespace penstock {
namespace {

// out[i] = byte first + i, widened; through a small buffer, so that reading allocates nothing.
void read_tokens(const ByteFile& file, int64_t first, std::span<int32_t> out) {
  std::array<uint8_t, 4096> buffer;
  while (!out.empty()) {
    const size_t n = std::min(out.size(), buffer.size());
    file.read(first, std::span(buffer).first(n));
    std::copy_n(buffer.begin(), n, out.begin());
    out = out.subspan(n);
    first += static_cast<int64_t>(n);
  }
}

std::shared_ptr<const ByteFile> open_file(const std::string& path) {
  auto file = std::make_shared<const ByteFile>(path);
  if (file->size_bytes() == 0) fail_input(path + " is empty: give a file with text in it");
  return file;
}

std::string bytes(int64_t n) {
  return std::to_string(n) + (n == 1 ? " byte" : " bytes");
}

}  // namespace

TextDataset::TextDataset(std::shared_ptr<const ByteFile> file, int64_t begin, int64_t end,
                         int64_t context, Windows windows)
    : file_(std::move(file)),
      begin_(begin),
      end_(end),
      context_(context),
      windows_(windows),
      fields_{{"tokens", {context}, DType::I32}, {"labels", {context}, DType::I32}} {
  const int64_t targets = end - begin - 1;  // the first byte is nobody's next
  size_ = (windows == Windows::Padded ? targets + context - 1 : targets) / context;
  if (context < 1 || size_ < 1) fail_internal("a text part without a window: " + file_->path());
}

void TextDataset::read(int64_t index, const RandomStream& random,
                       std::span<void* const> out) const {
  int64_t first = begin_ + index * context_;
  if (windows_ == Windows::Moving) {
    const int64_t last_start = end_ - 1 - context_;
    const int64_t starts = std::min(context_, last_start - first + 1);
    const uint64_t word = philox(random, 0)[0];
    first += static_cast<int64_t>(word * static_cast<uint64_t>(starts) >> 32);
  }
  const auto targets = static_cast<size_t>(std::min(context_, end_ - 1 - first));
  const auto fill = [&](void* to, int64_t from, int32_t padding) {
    if (to == nullptr) return;
    const std::span window(static_cast<int32_t*>(to), static_cast<size_t>(context_));
    read_tokens(*file_, from, window.first(targets));
    std::ranges::fill(window.subspan(targets), padding);
  };
  fill(out[0], first, 0);
  fill(out[1], first + 1, -1);
}

Datasets open_text(const DataConfig& config, int64_t context) {
  using Windows = TextDataset::Windows;
  const auto train = open_file(config.train);
  const auto share = share_of(config.validation);
  auto train_end = train->size_bytes();
  if (share) train_end = static_cast<int64_t>(static_cast<double>(train_end) * (1 - *share));
  if (train_end < context + 1) {
    fail_input(train->path() + " has " + bytes(train_end) + " to train on, and one window of " +
               "model.context = " + std::to_string(context) + " needs " + bytes(context + 1) +
               ": use a longer text or a shorter context");
  }
  Datasets sets;
  sets.vocabulary = kByteVocabulary;
  sets.train = std::make_shared<TextDataset>(train, 0, train_end, context,
                                             config.shuffle ? Windows::Moving : Windows::Fixed);
  if (config.validation.empty()) return sets;

  const auto held_out = share ? train : open_file(config.validation);
  const int64_t begin = share ? train_end : 0;
  if (held_out->size_bytes() - begin < 2) {
    fail_input(held_out->path() + " has " + bytes(held_out->size_bytes() - begin) +
               " to validate on, and one prediction needs 2: " +
               (share ? "use a larger data.validation" : "use a longer text"));
  }
  sets.validation = std::make_shared<TextDataset>(held_out, begin, held_out->size_bytes(), context,
                                                  Windows::Padded);
  return sets;
}

}  // namespace penstock

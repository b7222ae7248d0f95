#include "runtime/data/tokens/token_cache.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "kernels/error.h"
#include "kernels/philox.h"
#include "runtime/data/tokenizer/hub/folder_settings.h"
#include "runtime/data/tokenizer/hub/hub_tokenizer.h"
#include "runtime/data/tokenizer/steps/expression.h"
#include "runtime/data/tokenizer/steps/normal_form.h"
#include "runtime/data/tokens/shards/file_tokens.h"
#include "runtime/system/files/atomic_file.h"
#include "runtime/system/files/long_work.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "the file is written as memory has it");

constexpr int64_t kTokensBegin = 32;  // behind the header of a file of tokens
constexpr int64_t kFooterBytes = 48;
constexpr std::array<char, 8> kHeaderMagic = {'P', 'S', 'T', 'O', 'K', 'E', 'N', 'S'};
constexpr std::array<char, 8> kFooterMagic = {'P', 'S', 'C', 'A', 'C', 'H', 'E', '2'};
constexpr uint64_t kCacheFormat = 4;
constexpr std::string_view kCacheName = "tokens-";

// This is a checksum of bytes. It does not depend on how the bytes are divided among calls of
// add(). It takes 8 bytes at a time, so a gigabyte takes a fraction of a second. It detects
// accidents and not attacks: nobody gains by two texts with the same sum.
class Sum {
 public:
  explicit Sum(uint64_t seed) : sum_(mix(seed)) {}
  void add(std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
      if (begun_ == 0 && bytes.size() >= 8) {
        uint64_t word = 0;
        std::memcpy(&word, bytes.data(), 8);
        add(word);
        bytes = bytes.subspan(8);
      } else {
        word_ |= uint64_t{bytes.front()} << (8 * begun_++);
        if (begun_ == 8) end();
        bytes = bytes.subspan(1);
      }
    }
  }
  // Adds the first `bytes` bytes of a file, and then ends the word begun, so that what is added
  // next begins a new word.
  void add(const InputFile& file, int64_t bytes) {
    LongWork work("reading " + file.path(), bytes);
    std::vector<uint8_t> buffer(size_t{1} << 18);
    for (int64_t at = 0; at < bytes; at += static_cast<int64_t>(buffer.size())) {
      const auto n = static_cast<size_t>(std::min<int64_t>(bytes - at, std::ssize(buffer)));
      file.read(at, std::span(buffer).first(n));
      add(std::span(buffer).first(n));
      work.is_at(at + static_cast<int64_t>(n));
    }
    end();
  }
  void add(uint64_t word) { sum_ = mix(sum_ ^ word); }
  // Ends the word begun, so that the next byte begins a new word. If fewer than 8 bytes of the word
  // have come, their number is added as well.
  void end() {
    if (begun_ == 0) return;
    add(std::exchange(word_, 0));
    if (const size_t bytes = std::exchange(begun_, 0); bytes < 8) sum_ = mix(sum_ + bytes);
  }
  [[nodiscard]] uint64_t value() {
    end();
    return sum_;
  }

 private:
  uint64_t sum_;
  uint64_t word_ = 0;  // the next word, of which `begun_` bytes have come
  size_t begun_ = 0;
};

template <class T>
std::span<const uint8_t> bytes_of_numbers(std::span<const T> values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()};
}

// Returns the key of a text's tokens. The tokens also depend on the content of `files`.
uint64_t key_of(const InputFile& text, const std::vector<std::string>& files, TextForm form,
                const std::string& date) {
  Sum sum(kCacheFormat);
  sum.add(kCutVersion);
  sum.add(hash_name(expression_library()));
  sum.add(hash_name(normal_form_library()));
  sum.add(static_cast<uint64_t>(form));
  if (!date.empty()) sum.add(hash_name(date));
  for (const std::string& path : files) {
    const InputFile file(path);
    sum.add(static_cast<uint64_t>(file.size_bytes()));
    sum.add(file, file.size_bytes());
  }
  sum.add(text, text.size_bytes());
  return sum.value();
}

std::string cache_name(uint64_t key) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string name(kCacheName);
  for (int shift = 60; shift >= 0; shift -= 4) name += kDigits[(key >> shift) & 15];
  return name + ".bin";
}

std::optional<TextInPieces> read_kept(const std::string& file_path, const std::string& text_path,
                                      uint64_t key, int64_t vocabulary, TextForm form) {
  const auto file = std::make_shared<const InputFile>(file_path);
  const auto size = static_cast<uint64_t>(file->size_bytes());
  if (size < static_cast<uint64_t>(kTokensBegin + kFooterBytes)) return std::nullopt;
  std::array<uint64_t, 4> header{};  // magic; version and width; tokens; vocabulary
  std::array<uint64_t, 6> footer{};  // magic; key; starts; bytes that are no UTF-8; mark; sum
  file->read(0, {reinterpret_cast<uint8_t*>(header.data()), sizeof header});
  file->read(static_cast<int64_t>(size) - kFooterBytes,
             {reinterpret_cast<uint8_t*>(footer.data()), sizeof footer});
  const uint64_t width = header[1] >> 32;
  const uint64_t room = size - static_cast<uint64_t>(kTokensBegin + kFooterBytes);
  if (footer[0] != std::bit_cast<uint64_t>(kFooterMagic) || footer[1] != key ||
      width != PackedTokens(vocabulary).width() || header[2] > room / width ||
      footer[2] != (room - header[2] * width) / 4 || (room - header[2] * width) % 4 != 0) {
    return std::nullopt;
  }
  Sum sum(kCacheFormat);
  sum.add(*file, static_cast<int64_t>(size) - 8);
  if (sum.value() != footer[5]) return std::nullopt;
  TextInPieces text;
  text.not_utf8 = static_cast<int64_t>(footer[3]);
  text.marked = footer[4] == 1;
  text.starts.resize(footer[2]);
  file->read(kTokensBegin + static_cast<int64_t>(header[2] * width),
             {reinterpret_cast<uint8_t*>(text.starts.data()), 4 * text.starts.size()});
  // The file cannot be trusted, so it is checked that its lines lie within its tokens.
  const bool has_lines = form == TextForm::Lines || form == TextForm::Samples;
  if (has_lines == text.starts.empty()) return std::nullopt;
  if (!std::ranges::is_sorted(text.starts)) return std::nullopt;
  if (!text.starts.empty() && text.starts.back() != header[2]) return std::nullopt;
  text.tokens = std::make_shared<FileTokens>(file, kTokensBegin, static_cast<int64_t>(header[2]),
                                             NumberType{width}, "piece", text_path);
  return text;
}

// Returns the kept text, or nothing if there is none or the file is not whole.
std::optional<TextInPieces> kept(const std::string& file_path, const std::string& text_path,
                                 uint64_t key, int64_t vocabulary, TextForm form) {
  std::error_code ignored;
  if (!fs::exists(file_path, ignored)) return std::nullopt;
  try {
    return read_kept(file_path, text_path, key, vocabulary, form);
  } catch (const Error& error) {  // the file shrank, or cannot be read
    if (error.kind() == ErrorKind::Stopped) throw;
    return std::nullopt;
  }
}

constexpr std::string_view kPartMark = ".part-";

// Returns a suffix that makes the name of a file unique. Other ranks can be writing the same file
// at the same time. Some can be ranks of other jobs, whose hosts and processes have the same names
// and numbers (in containers).
std::string own_suffix() {
  std::random_device random;
  return std::string(kPartMark) + std::to_string(random()) + "-" + std::to_string(random());
}

// Removes files that jobs were writing when they were killed. A file counts as such if nothing was
// written to it for an hour.
void remove_old_parts(const fs::path& folder) {
  const auto before = fs::file_time_type::clock::now() - std::chrono::hours(1);
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; at != end; at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(kCacheName) || name.find(kPartMark) == std::string::npos) continue;
    std::error_code error;
    const auto written = at->last_write_time(error);
    if (!error && written < before) fs::remove(at->path(), error);
  }
}

// Writes the file, or returns false if it cannot be written.
bool keep(const std::string& file_path, const CutText& text, uint64_t key, int64_t vocabulary) {
  const std::array<uint64_t, 4> header = {std::bit_cast<uint64_t>(kHeaderMagic),
                                          uint64_t{text.tokens.width()} << 32 | 1,
                                          text.tokens.size(), static_cast<uint64_t>(vocabulary)};
  const std::array<uint64_t, 5> footer = {std::bit_cast<uint64_t>(kFooterMagic), key,
                                          text.starts.size(), static_cast<uint64_t>(text.not_utf8),
                                          text.marked ? uint64_t{1} : uint64_t{0}};
  try {
    remove_old_parts(fs::path(file_path).parent_path());
    AtomicFile file(file_path, own_suffix());
    Sum sum(kCacheFormat);  // the sum of the bytes as they should be on the disk
    const auto write = [&](std::span<const uint8_t> bytes) {
      file.write(bytes.data(), bytes.size());
      sum.add(bytes);
    };
    write(bytes_of_numbers<uint64_t>(header));
    write(text.tokens.bytes());
    write(bytes_of_numbers<uint32_t>(text.starts));
    write(bytes_of_numbers<uint64_t>(footer));
    const std::array<uint64_t, 1> last = {sum.value()};
    write(bytes_of_numbers<uint64_t>(last));
    file.commit();
    return true;
  } catch (const Error& error) {  // the folder cannot be written, or the disk is full
    if (error.kind() == ErrorKind::Stopped) throw;
    return false;
  }
}

TextInPieces in_memory(const std::string& path, CutText text) {
  TextInPieces whole;
  whole.tokens = tokens_in_memory(path, std::move(text.tokens), "piece");
  whole.starts = std::move(text.starts);
  whole.not_utf8 = text.not_utf8;
  whole.marked = text.marked;
  return whole;
}

// Describes a text that is to be cut, and what else its tokens depend on.
struct TextToCut {
  std::string path;
  std::vector<std::string> files;
  int64_t vocabulary;  // all tokens are below this
  TextForm form;
  std::function<CutText()> cut;
};

// Returns the time of the last write to a file.
fs::file_time_type time_of(const std::string& path) {
  std::error_code error;
  const fs::file_time_type time = fs::last_write_time(path, error);
  if (error) fail_data(path + " cannot be looked at: " + error.message());
  return time;
}

TextInPieces kept_or_cut(const TextToCut& wanted, const DataConfig& config) {
  const std::string& path = wanted.path;
  const InputFile text(path);
  if (config.cache_folder.empty() || text.size_bytes() < config.cache_least_bytes) {
    return in_memory(path, wanted.cut());
  }
  const auto written = time_of(path);
  const uint64_t key = key_of(text, wanted.files, wanted.form, config.date);
  const std::string file = (fs::path(config.cache_folder) / cache_name(key)).string();
  if (auto whole = kept(file, path, key, wanted.vocabulary, wanted.form)) return std::move(*whole);
  CutText made = wanted.cut();
  // If a text grew meanwhile, the ranks that cut it would have different tokens.
  if (time_of(path) != written || InputFile(path).size_bytes() != text.size_bytes()) {
    fail_data(path + " was changed while it was cut into tokens: start again when it is complete");
  }
  if (keep(file, made, key, wanted.vocabulary)) {
    if (auto whole = kept(file, path, key, wanted.vocabulary, wanted.form)) {
      return std::move(*whole);
    }
  }
  TextInPieces whole = in_memory(path, std::move(made));
  whole.note = "the pieces of " + path +
               " stay in the memory of every rank that reads them: " + file + " cannot be written";
  return whole;
}

}  // namespace

TextInPieces text_in_pieces(const std::string& path, const DataConfig& config,
                            const Pieces& vocabulary, TextForm form) {
  return kept_or_cut({path,
                      {config.vocabulary},
                      vocabulary.size(),
                      form,
                      [&] { return cut_lines(path, config, vocabulary, form); }},
                     config);
}

TextInPieces text_by_tokenizer(const std::string& path, const DataConfig& config,
                               const Tokenizer& tokenizer) {
  return kept_or_cut({path, files_of_tokenizer(config.vocabulary), tokenizer.size(),
                      TextForm::AsItIs, [&] { return cut_as_it_is(path, config, tokenizer); }},
                     config);
}

TextInPieces samples_by_tokenizer(const std::string& path, const DataConfig& config,
                                  const Tokenizer& tokenizer,
                                  const std::function<void(const KeepLine& keep)>& cut) {
  // A sample begins with a number that tells its form. In a small vocabulary that number can be
  // larger than all tokens of the sample. So `below` is at least kMostKept.
  constexpr int64_t kMostKept = 1 << 12;
  const int64_t below = std::max<int64_t>(2 * tokenizer.size(), kMostKept);
  const auto cut_samples = [&] {
    CutText text{PackedTokens(below), {0}};
    cut([&](const std::vector<int32_t>& numbers) {
      text.tokens.append(numbers);
      end_line(text, path, "divide it");
    });
    return text;
  };
  return kept_or_cut(
      {path, files_of_tokenizer(config.vocabulary), below, TextForm::Samples, cut_samples}, config);
}

}  // namespace penstock

#include "runtime/data/tokenizer/tokenizer.h"

#include <algorithm>
#include <optional>

#include "kernels/error.h"
#include "runtime/data/datasets/text/text.h"
#include "runtime/data/tokenizer/hub/hub_tokenizer.h"
#include "runtime/data/tokenizer/pieces.h"
#include "runtime/data/tokenizer/vocabulary.h"

namespace penstock {
namespace {

// Returns the UTF-8 character that byte `at` belongs to.
std::string_view character_at(std::string_view text, size_t at) {
  const auto continues = [&](size_t i) { return (static_cast<uint8_t>(text[i]) & 0xC0U) == 0x80U; };
  size_t first = at;
  while (first > 0 && continues(first)) --first;
  size_t end = at + 1;
  while (end < text.size() && continues(end)) ++end;
  return text.substr(first, end - first);
}

class Bytes final : public Tokenizer {
 public:
  explicit Bytes(int64_t vocabulary) : size_(std::min(vocabulary, kByteVocabulary)) {}
  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int32_t> ids;
    for (size_t i = 0; i < text.size(); ++i) {
      ids.push_back(static_cast<uint8_t>(text[i]));
      if (ids.back() < size_) continue;
      fail_input("the character '" + std::string(character_at(text, i)) +
                 "' is not in the vocabulary of the network, which has the bytes 0 to " +
                 std::to_string(size_ - 1));
    }
    return ids;
  }
  [[nodiscard]] std::string decode(std::span<const int32_t> ids) const override {
    return {ids.begin(), ids.end()};
  }
  [[nodiscard]] int32_t start() const override { return '\n'; }

 private:
  int64_t size_;
};

// Encodes line by line, as text_in_pieces() reads a file. The last line gets no piece for the end
// of a line, because the text possibly goes on in that line.
class PiecesOfLines final : public Tokenizer {
 public:
  explicit PiecesOfLines(const std::string& path)
      : pieces_(path), line_(pieces_.find(kLinePiece)) {}
  [[nodiscard]] int64_t size() const override { return pieces_.size(); }
  [[nodiscard]] std::vector<int32_t> encode(std::string_view text) const override {
    if (const std::string unknown = pieces_.unknown_in(text); !unknown.empty()) {
      fail_input("'" + unknown + "' is not in the vocabulary of the network: no piece has it");
    }
    std::vector<int32_t> ids;
    for (size_t at = 0;;) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const std::vector<int32_t> line = pieces_.encode(text.substr(at, end - at));
      ids.insert(ids.end(), line.begin(), line.end());
      if (end == text.size()) return ids;
      if (line_) ids.push_back(*line_);
      at = end + 1;
    }
  }
  [[nodiscard]] std::string decode(std::span<const int32_t> ids) const override {
    std::string text;
    while (line_) {
      const auto end = std::ranges::find(ids, *line_);
      if (end == ids.end()) break;
      const auto length = static_cast<size_t>(end - ids.begin());
      text += pieces_.decode(ids.first(length)) + '\n';
      ids = ids.subspan(length + 1);
    }
    return text + pieces_.decode(ids);
  }
  [[nodiscard]] int32_t start() const override { return line_.value_or(pieces_.begin()); }

 private:
  Pieces pieces_;
  std::optional<int32_t> line_;
};

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer(const DataConfig& config, int64_t vocabulary) {
  if (uses_folder(config)) return open_hub_tokenizer(config.vocabulary);
  if (config.kind != "text") {
    fail_input("text is made by networks that learnt from text, and data.kind is " + config.kind);
  }
  if (uses_pieces(config)) return std::make_unique<PiecesOfLines>(config.vocabulary);
  return std::make_unique<Bytes>(vocabulary);
}

}  // namespace penstock

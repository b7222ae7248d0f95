// runtime/data/tokens/packed_tokens.h -- PackedTokens: tokens in memory, each in as many bytes as
// the vocabulary needs: 1 for bytes of a text, 2 for most vocabularies, 4 for large ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

class PackedTokens {
 public:
  // No tokens yet; all will be in [0, vocabulary).
  explicit PackedTokens(int64_t vocabulary);
  // These bytes as tokens, taken over and not copied.
  explicit PackedTokens(std::vector<uint8_t> bytes) : width_(1), bytes_(std::move(bytes)) {}

  [[nodiscard]] size_t width() const { return width_; }  // bytes of a token
  [[nodiscard]] std::span<const uint8_t> bytes() const { return bytes_; }
  [[nodiscard]] size_t size() const { return bytes_.size() / width_; }
  void append(std::span<const int32_t> tokens);
  void append(const PackedTokens& tokens);  // for the same vocabulary
  // Overwrites `out` with the tokens from `first` on, which must be there.
  void read(size_t first, std::span<int32_t> out) const;

 private:
  size_t width_;
  std::vector<uint8_t> bytes_;  // little-endian
};

}  // namespace penstock

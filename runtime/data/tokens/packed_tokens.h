// runtime/data/tokens/packed_tokens.h -- PackedTokens: a growing row of token ids in memory, each
// in as few bytes as the vocabulary allows: 1 for up to 256 ids, 2 for up to 65536, else 4.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

class PackedTokens {
 public:
  // Empty at first; all ids to come are in [0, vocabulary).
  explicit PackedTokens(int64_t vocabulary);
  // The bytes of a text as tokens of one byte each; taken over and not copied.
  explicit PackedTokens(std::vector<uint8_t> bytes) : width_(1), bytes_(std::move(bytes)) {}

  [[nodiscard]] size_t width() const { return width_; }  // bytes of a token
  [[nodiscard]] std::span<const uint8_t> bytes() const { return bytes_; }
  [[nodiscard]] size_t size() const { return bytes_.size() / width_; }
  // Append tokens behind those that are there.
  void append(std::span<const int32_t> tokens);
  void append(const PackedTokens& tokens);  // for the same vocabulary
  // Overwrites `out` with out.size() tokens, those from index `first` on, which must be there.
  void read(size_t first, std::span<int32_t> out) const;

 private:
  size_t width_;
  std::vector<uint8_t> bytes_;  // little-endian
};

}  // namespace penstock

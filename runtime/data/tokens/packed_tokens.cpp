#include "runtime/data/tokens/packed_tokens.h"

#include "kernels/error.h"

namespace penstock {
namespace {

size_t width_for(int64_t vocabulary) {
  if (vocabulary <= int64_t{1} << 8) return 1;
  return vocabulary <= int64_t{1} << 16 ? 2 : 4;
}

}  // namespace

PackedTokens::PackedTokens(int64_t vocabulary) : width_(width_for(vocabulary)) {}

void PackedTokens::append(std::span<const int32_t> tokens) {
  for (const int32_t token : tokens) {
    const auto value = static_cast<uint32_t>(token);
    for (size_t i = 0; i < width_; ++i) bytes_.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
}

void PackedTokens::append(const PackedTokens& tokens) {
  if (tokens.width_ != width_) fail_internal("tokens of two widths in a row");
  bytes_.insert(bytes_.end(), tokens.bytes_.begin(), tokens.bytes_.end());
}

void PackedTokens::read(size_t first, std::span<int32_t> out) const {
  const uint8_t* at = bytes_.data() + first * width_;
  for (int32_t& token : out) {
    uint32_t value = 0;
    for (size_t i = 0; i < width_; ++i) value |= uint32_t{*at++} << (8 * i);
    token = static_cast<int32_t>(value);
  }
}

}  // namespace penstock

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "target.h"

namespace penstock::fuzz {
namespace {

uint32_t big_endian(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

// CRC-32 as in the PNG specification, annex D.
uint32_t crc_of(const char* data, size_t size) {
  uint32_t crc = ~0U;
  for (size_t i = 0; i < size; ++i) {
    crc ^= static_cast<uint8_t>(data[i]);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320U : 0);
  }
  return ~crc;
}

}  // namespace

void repair_png(std::string& bytes) {
  constexpr size_t kSignature = 8;
  constexpr size_t kAround = 12;  // length, type and checksum of a chunk
  for (size_t at = kSignature; at + kAround <= bytes.size();) {
    const size_t length = big_endian(bytes, at);
    if (length > bytes.size() - at - kAround) return;
    const uint32_t crc = crc_of(bytes.data() + at + 4, length + 4);
    for (size_t i = 0; i < 4; ++i) {
      bytes[at + 8 + length + i] = static_cast<char>(crc >> (24 - 8 * i));
    }
    at += kAround + length;
  }
}

void repair_tar(std::string& bytes) {
  constexpr size_t kBlock = 512;
  constexpr size_t kSum = 148;
  for (size_t at = 0; at + kBlock <= bytes.size(); at += kBlock) {
    if (bytes.compare(at + 257, 5, "ustar") != 0) continue;
    std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(at + kSum), 8, ' ');
    unsigned sum = 0;
    for (size_t i = 0; i < kBlock; ++i) sum += static_cast<uint8_t>(bytes[at + i]);
    std::snprintf(bytes.data() + at + kSum, 8, "%06o", sum);
  }
}

void repair_safetensors(std::string& bytes) {
  constexpr size_t kLength = 8;
  const size_t end = bytes.rfind("}}");
  if (end == std::string::npos || end < kLength) return;
  const uint64_t length = end + 2 - kLength;
  std::memcpy(bytes.data(), &length, kLength);
}

}  // namespace penstock::fuzz

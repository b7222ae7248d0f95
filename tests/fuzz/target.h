// tests/fuzz/target.h -- FuzzTarget: a reader, given any bytes. What it must do with them is said
// in check.h.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace penstock::fuzz {

struct FuzzTarget {
  std::string name;  // of its folder of seeds
  // Reads `bytes`, which also stand in the file `path`; messages name one or the other's path.
  void (*read)(const std::string& bytes, const std::string& path);
  // Words of the format, to be put anywhere.
  std::vector<std::string> words;
  // A regular expression: how messages may name a place without a byte or a line, after the path.
  std::string also = {};
  // Makes lengths and checksums right again, so that mutations reach what lies behind them; null
  // where there are none.
  void (*repair)(std::string& bytes) = nullptr;
};

[[nodiscard]] std::span<const FuzzTarget> fuzz_targets();

void repair_png(std::string& bytes);          // the checksum of every chunk
void repair_tar(std::string& bytes);          // that of every header
void repair_safetensors(std::string& bytes);  // the length of the header

}  // namespace penstock::fuzz

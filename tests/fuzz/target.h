// tests/fuzz/target.h -- FuzzTarget: a reader of a file format that is tried with any bytes.
// check.h says what it must do with them.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace penstock::fuzz {

struct FuzzTarget {
  std::string name;  // also the name of its folder of seeds
  // Reads `bytes`, which are also in the file `path`. Messages name `path`.
  void (*read)(const std::string& bytes, const std::string& path);
  // Words of the format, which mutated() puts anywhere.
  std::vector<std::string> words;
  // A regular expression for what may follow the path in a message, in place of a byte or a line.
  std::string also = {};
  // Makes lengths and checksums right again, so that mutations reach what lies behind them; null
  // where there are none.
  void (*repair)(std::string& bytes) = nullptr;
};

[[nodiscard]] std::span<const FuzzTarget> fuzz_targets();

void repair_png(std::string& bytes);          // sets the checksum of every chunk
void repair_tar(std::string& bytes);          // sets the checksum of every header
void repair_safetensors(std::string& bytes);  // sets the length of the header

}  // namespace penstock::fuzz

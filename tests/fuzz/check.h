// tests/fuzz/check.h -- checks that a reader takes any bytes as it must: it reads them, or refuses
// them by an Error(Data) of one line that names the file and a place in it, and needs no more
// memory than the file's size and 64 MiB.
#pragma once

#include <string>

#include "target.h"

namespace penstock::fuzz {

struct FuzzResult {
  bool accepted = false;
  std::string message;    // of the refusal
  size_t peak_bytes = 0;  // the most memory in use, beyond what was in use before
};

// Puts the bytes into `path` and has them read. Throws std::logic_error saying which rule was
// broken.
FuzzResult check_input(const FuzzTarget& target, const std::string& bytes, const std::string& path);

}  // namespace penstock::fuzz

// tests/fuzz/check.h -- what any reader must do with any bytes: read them, or refuse them by an
// error of data in one line that names the file and a place in it; in the memory of the file and 64
// MiB.
#pragma once

#include <string>

#include "target.h"

namespace penstock::fuzz {

struct FuzzResult {
  bool accepted = false;
  std::string message;    // of the refusal
  size_t peak_bytes = 0;  // of memory in use, beyond what there was
};

// Puts the bytes into `path` and has them read. Throws std::logic_error saying which rule was
// broken.
FuzzResult check_input(const FuzzTarget& target, const std::string& bytes, const std::string& path);

}  // namespace penstock::fuzz

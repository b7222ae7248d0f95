// tests/fuzz/mutate.h -- damages the bytes of a file, as accidents and attackers do.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "target.h"

namespace penstock::fuzz {

// One of `seeds` after one to six changes: bits, bytes and numbers set, parts cut, doubled or taken
// from another seed, words of the format put in. Equal states of `random` give equal results.
[[nodiscard]] std::string mutated(const FuzzTarget& target, const std::vector<std::string>& seeds,
                                  std::mt19937_64& random);

}  // namespace penstock::fuzz

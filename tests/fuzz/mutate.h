// tests/fuzz/mutate.h -- damage, of the kinds that files suffer by accident and by intent.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "target.h"

namespace penstock::fuzz {

// One of `seeds` after one to six changes: bits, bytes and numbers set, parts cut, doubled or taken
// from another seed, words of the format put in. The same for the same state of `random`.
[[nodiscard]] std::string mutated(const FuzzTarget& target, const std::vector<std::string>& seeds,
                                  std::mt19937_64& random);

}  // namespace penstock::fuzz

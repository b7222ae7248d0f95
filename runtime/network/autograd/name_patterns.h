// runtime/network/autograd/name_patterns.h -- tensors chosen by patterns of their names, as a shell
// chooses files: `*` is any text, dots included, `?` a character, [ab] an a or a b. A pattern that
// begins with `!` takes names out again. Where several patterns fit a name, the last decides.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace penstock {

// Whether the patterns choose that name.
[[nodiscard]] bool matches_any(const std::string& name, std::span<const std::string> patterns);

// Throws Error(Input) for a pattern, with `!` or without, that fits none of `names`, with the
// nearest that would:
// "<option>: no tensor of the network is called 'clasifier.*'; did you mean 'classifier.*'?"
void refuse_unmatched(const std::string& option, std::span<const std::string> patterns,
                      std::span<const std::string> names);

}  // namespace penstock

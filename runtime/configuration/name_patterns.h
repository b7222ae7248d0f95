// runtime/configuration/name_patterns.h -- tensors chosen by patterns of their names, as a shell
// chooses files: `*` is any text, dots included, `?` a character, [ab] one of those.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace penstock {

[[nodiscard]] bool matches_any(const std::string& name, std::span<const std::string> patterns);

// Throws Error(Input) for a pattern that matches none of `names`, with the nearest that would:
// "<option>: no tensor of the network is called 'clasifier.*'; did you mean 'classifier.*'?"
void refuse_unmatched(const std::string& option, std::span<const std::string> patterns,
                      std::span<const std::string> names);

}  // namespace penstock

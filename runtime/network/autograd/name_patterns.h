// runtime/network/autograd/name_patterns.h -- chooses tensors of a network by patterns of their
// names, as a shell chooses files.
//
// Options like optimizer.freeze and init.skip are lists of such patterns. `*` is any text, dots
// included, `?` one character, [ab] an a or a b; a pattern fits a whole name. A pattern that begins
// with `!` takes names out again. Where several patterns fit a name, the last one decides:
// ["blocks.*", "!*.bias"] chooses blocks.0.linear.weight and not blocks.0.linear.bias.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace penstock {

// Whether the patterns choose that name; false where none fits it.
[[nodiscard]] bool matches_any(const std::string& name, std::span<const std::string> patterns);

// Checks the patterns that a user gave for `option` against the names of all tensors of the
// network. Throws Error(Input) for the first pattern, with `!` or without, that fits none of
// `names`, and suggests the nearest one that would:
// "<option>: no tensor of the network is called 'clasifier.*'; did you mean 'classifier.*'?"
void refuse_unmatched(const std::string& option, std::span<const std::string> patterns,
                      std::span<const std::string> names);

}  // namespace penstock

// runtime/data/datasets/share.h -- share_of(): tells whether data.validation is a share of the
// training data, like "0.1", or something else: a path, or empty for no validation set.
#pragma once

#include <optional>
#include <string>

namespace penstock {

// The share as a number; nullopt when `validation` is no number, so a path or empty. Throws
// Error(Input) naming the key when it is a number outside (0, 1).
[[nodiscard]] std::optional<double> share_of(const std::string& validation);

}  // namespace penstock

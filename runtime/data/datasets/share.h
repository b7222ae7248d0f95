// runtime/data/datasets/share.h -- how `data.validation` is read: "", a share like "0.1", or a
// path.
#pragma once

#include <optional>
#include <string>

namespace penstock {

// The share, or nothing when `validation` is no number. Throws Error(Input) naming the key when it
// is a number outside (0, 1).
[[nodiscard]] std::optional<double> share_of(const std::string& validation);

}  // namespace penstock

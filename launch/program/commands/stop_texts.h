// launch/program/commands/stop_texts.h -- how much of a growing text may be shown if it must end
// before certain words (--stop). Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

// Whether the text contains one of `stops`, none of which is empty.
[[nodiscard]] bool has_stop(std::string_view text, std::span<const std::string> stops);

// The number of leading bytes that no later text can take back: those before the first of `stops`
// and, while the text is not `done`, before an end that may become one of them or a whole character
// (U+FFFD).
[[nodiscard]] size_t bytes_to_show(std::string_view text, std::span<const std::string> stops,
                                   bool done);

}  // namespace penstock

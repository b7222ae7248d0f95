// launch/program/commands/stop_texts.h -- how much of a text that grows may be shown, where it is
// to end before certain words (--stop). Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

// Whether one of them, none empty, stands in the text.
[[nodiscard]] bool has_stop(std::string_view text, std::span<const std::string> stops);

// The bytes of the text that nothing that follows can take back: those before the first of
// `stops`, and, while it is not `done`, before what may become one of them or a whole character
// (U+FFFD at its end).
[[nodiscard]] size_t bytes_to_show(std::string_view text, std::span<const std::string> stops,
                                   bool done);

}  // namespace penstock

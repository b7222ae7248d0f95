// launch/program/commands/stop_texts.h -- how much of a growing text may be shown already, if it
// ends before the first of some strings (--stop). Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

// Whether the text contains one of `stops`, none of which is empty.
[[nodiscard]] bool has_stop(std::string_view text, std::span<const std::string> stops);

// The number of leading bytes that stay, whatever is added: those before the first of `stops`;
// while the text is not `done`, not the last bytes either, if they may be the beginning of a stop
// or of a character (U+FFFD so far).
[[nodiscard]] size_t bytes_to_show(std::string_view text, std::span<const std::string> stops,
                                   bool done);

}  // namespace penstock

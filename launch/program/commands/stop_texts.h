// launch/program/commands/stop_texts.h -- decides how much of a text that is still being generated
// may be shown, when the text is to end before the first of some stop strings (option --stop). The
// last bytes are held back while they may be the beginning of a stop string. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

// Whether the text contains one of the stop strings `stops`, none of which is empty.
[[nodiscard]] bool has_stop(std::string_view text, std::span<const std::string> stops);

// How many leading bytes of `text` may be shown. With a stop string in it: the bytes before the
// first one. Without: all bytes when the text is `done`; else all but those at the end that may be
// the beginning of a stop string or of a character that is not complete (U+FFFD so far). Example:
// "Hello wor" with the stop string "world" gives 6.
[[nodiscard]] size_t bytes_to_show(std::string_view text, std::span<const std::string> stops,
                                   bool done);

}  // namespace penstock

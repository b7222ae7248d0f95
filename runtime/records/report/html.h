// runtime/records/report/html.h -- puts untrusted texts into pages and pictures; and HTML that
// sections of the page share.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// Escapes a text for use between tags or inside a quoted attribute. Bytes that are no UTF-8 are
// shown as escapes (shown_bytes()).
[[nodiscard]] std::string escaped_html(std::string_view text);

// Escapes JSON for use inside a <script>, so that nothing in it looks like the script's end.
[[nodiscard]] std::string json_for_script(std::string_view json);

// The HTML of a figure in the page's head: its name, its value, and a line below.
[[nodiscard]] std::string figure_tile(const std::string& name, const std::string& value,
                                      const std::string& below);

// HTML that says that figures are of `attempt`, before the last one; "" for the last one or 0.
[[nodiscard]] std::string older_attempt_note(int64_t attempt, int64_t attempts);

}  // namespace penstock

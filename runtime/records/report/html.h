// runtime/records/report/html.h -- untrusted texts inside a page or picture.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// Escapes untrusted input as text between tags or inside a quoted attribute. Bytes that are no
// UTF-8 are shown (shown_bytes()).
[[nodiscard]] std::string escaped_html(std::string_view text);

// JSON inside a <script>: no text of it may look like the end of the script.
[[nodiscard]] std::string json_for_script(std::string_view json);

// A figure of the page's head: what it is, its value, and a line below.
[[nodiscard]] std::string figure_tile(const std::string& name, const std::string& value,
                                      const std::string& below);

// A sentence that says figures are from an attempt before the last one; "" for the last one.
[[nodiscard]] std::string older_attempt_note(int64_t attempt, int64_t attempts);

}  // namespace penstock

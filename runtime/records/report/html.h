// runtime/records/report/html.h -- makes texts safe to put into an HTML page (escaping), and makes
// the small pieces of HTML that several sections of report.html share.
//
// A report shows the files of a run, which may hold anything; nothing in them may become a tag or a
// script of the page.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// Escapes a text for use between tags or inside a quoted attribute. Bytes that are not UTF-8 are
// shown as escapes; control characters are left out.
[[nodiscard]] std::string escaped_html(std::string_view text);

// Escapes JSON for use inside a <script>: '<' becomes \u003c, so that no text in it can end the
// script.
[[nodiscard]] std::string json_for_script(std::string_view json);

// The HTML of one of the main numbers at the top of the page: its name, its value, and a small line
// below. Escapes all three.
[[nodiscard]] std::string figure_tile(const std::string& name, const std::string& value,
                                      const std::string& below);

// HTML that says that the numbers below are of an older attempt (start of the run), because the
// last one recorded none. `attempt` is theirs, `attempts` how many there were. Empty if `attempt`
// is the last one or 0 (not known).
[[nodiscard]] std::string older_attempt_note(int64_t attempt, int64_t attempts);

}  // namespace penstock

#include "runtime/records/report/html.h"

#include <fmt/format.h>

#include "runtime/system/files/byte_text.h"

namespace penstock {

std::string escaped_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char letter : shown_bytes(text)) {
    switch (letter) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        // Control characters, such as a terminal's colours, are nothing for a page.
        if (letter == '\n' || letter == '\t' || static_cast<unsigned char>(letter) >= 0x20) {
          out += letter;
        }
    }
  }
  return out;
}

std::string json_for_script(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char letter : json) {
    if (letter == '<') {
      out += "\\u003c";
    } else {
      out += letter;
    }
  }
  return out;
}

std::string figure_tile(const std::string& name, const std::string& value,
                        const std::string& below) {
  return fmt::format("<div><dt>{}</dt><dd>{}<small>{}</small></dd></div>\n", escaped_html(name),
                     escaped_html(value), escaped_html(below));
}

std::string older_attempt_note(int64_t attempt, int64_t attempts) {
  if (attempt == 0 || attempt >= attempts) return "";
  return fmt::format(
      "<p class=\"older\">Of attempt {}: attempt {}, the last that began, has not told this.</p>\n",
      attempt, attempts);
}

}  // namespace penstock

#include "runtime/records/report/html.h"

#include <fmt/format.h>

#include <boost/algorithm/string/replace.hpp>

#include "runtime/system/files/byte_text.h"

namespace penstock {

std::string escaped_html(std::string_view text) {
  std::string out = shown_bytes(text);
  // Control characters, such as those of a terminal's colours, are left out: a page cannot show
  // them.
  std::erase_if(out, [](char letter) {
    return letter != '\n' && letter != '\t' && static_cast<unsigned char>(letter) < 0x20;
  });
  boost::replace_all(out, "&", "&amp;");
  boost::replace_all(out, "<", "&lt;");
  boost::replace_all(out, ">", "&gt;");
  boost::replace_all(out, "\"", "&quot;");
  boost::replace_all(out, "'", "&#39;");
  return out;
}

std::string json_for_script(std::string_view json) {
  return boost::replace_all_copy(std::string(json), "<", "\\u003c");
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

// runtime/planning/drawing/page.cpp -- see page.h.
#include "runtime/planning/drawing/page.h"

#include <array>
#include <boost/algorithm/string/replace.hpp>
#include <string_view>
#include <utility>

#include "runtime/planning/drawing/json.h"
#include "runtime/planning/drawing/page_parts.h"
#include "runtime/planning/drawing/program_grid.h"

namespace penstock {
namespace {

// Returns JSON that can stand inside a <script>: no text in it looks like the end of the script.
std::string inside_script(std::string json) {
  boost::replace_all(json, "<", "\\u003c");
  return json;
}

std::string data_of(const ScheduleAnswer& answer, const std::string& compare) {
  return inside_script("{\"settings\":" + settings_json(answer.settings) +
                       ",\"answer\":" + answer_json(answer) + ",\"schedules\":" + schedules_json() +
                       ",\"compare\":\"" + compare + "\",\"grid\":" + program_grid_json() + "}");
}

}  // namespace

std::string page(const ScheduleAnswer& answer, const std::string& compare) {
  const std::string data = data_of(answer, compare);
  const std::array<std::pair<std::string_view, std::string_view>, 3> places = {{
      {"{{style}}", kPageStyle},
      {"{{data}}", data},
      {"{{script}}", kPageScript},
  }};
  std::string out;
  std::string_view rest = kPageFrame;
  for (const auto& [mark, part] : places) {  // in the order in which the frame has the marks
    const size_t at = rest.find(mark);
    out.append(rest.substr(0, at)).append(part);
    rest.remove_prefix(at + mark.size());
  }
  return out.append(rest);
}

}  // namespace penstock

// runtime/planning/drawing/page.cpp -- see page.h.
#include "runtime/planning/drawing/page.h"

#include <array>
#include <boost/algorithm/string/replace.hpp>
#include <nlohmann/json.hpp>
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

using Json = nlohmann::ordered_json;  // keeps keys in the order in which they are added

// The answer as the page has it, with the path that it outlines where that is known.
Json drawn_answer(const ScheduleAnswer& answer) {
  Json json = Json::parse(answer_json(answer));
  for (const Instruction& instruction : answer.path) json["path"].push_back(text(instruction));
  return json;
}

Json fixed_answers(const ScheduleAnswer& answer, const SearchNotes& notes) {
  if (notes.costs_file.empty()) return nullptr;
  Json answers{{answer.settings.schedule, drawn_answer(answer)}};
  for (const ScheduleAnswer& other : notes.others) {
    answers[other.settings.schedule] = drawn_answer(other);
  }
  return {{"costs_file", notes.costs_file}, {"answers", std::move(answers)}};
}

std::string data_of(const ScheduleAnswer& answer, const std::string& compare,
                    const SearchNotes& notes) {
  const Json fixed = fixed_answers(answer, notes);
  Json data{{"settings", Json::parse(settings_json(answer.settings))},
            {"answer", drawn_answer(answer)},
            {"schedules", Json::parse(schedules_json())},
            {"compare", compare},
            {"bound", notes.bound},
            {"limiting_ranks", notes.limiting_ranks},
            {"fixed", fixed}};
  std::string text = data.dump();
  const std::string grid = fixed.is_null() ? program_grid_json() : "null";
  text.replace(text.size() - 1, 1, ",\"grid\":" + grid + "}");
  return inside_script(std::move(text));
}

}  // namespace

std::string page(const ScheduleAnswer& answer, const std::string& compare,
                 const SearchNotes& notes) {
  const std::string data = data_of(answer, compare, notes);
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

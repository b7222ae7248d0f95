#include "runtime/planning/drawing/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/planning/drawing/json.h"
#include "runtime/planning/drawing/program_grid.h"
#include "runtime/planning/drawing/run_lengths.h"
#include "runtime/planning/schedule/generators/known_schedules.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::Not;

// What stands inside the element with that id.
std::string inside(const std::string& html, const std::string& id) {
  const size_t start = html.find('>', html.find("id=\"" + id + "\"")) + 1;
  return html.substr(start, html.find("</script>", start) - start);
}

TEST(Page, CarriesTheAnswerTheSettingsAndTheMenu) {
  const ScheduleAnswer a = answer({.schedule = "zb-v", .stages = 6, .micro_batches = 5});
  const auto data = nlohmann::json::parse(inside(page(a), "data"));
  EXPECT_EQ(data["answer"], nlohmann::json::parse(answer_json(a)));
  EXPECT_EQ(data["settings"], nlohmann::json::parse(settings_json(a.settings)));
  EXPECT_EQ(data["schedules"], nlohmann::json::parse(schedules_json()));
}

TEST(Page, IsWholeAndAsksTheNetworkForNothing) {
  const std::string html = page(answer({}));
  EXPECT_THAT(html, Not(HasSubstr("{{")));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, Not(HasSubstr("src=\"http")));
  EXPECT_THAT(html, Not(HasSubstr("href=\"http")));
  EXPECT_THAT(html, Not(HasSubstr("fetch(")));
  EXPECT_THAT(html, Not(HasSubstr("@import")));
}

TEST(Page, HoldsTheProgramsOfTheSlidersSizes) {
  const std::string html = page(answer({}));
  const auto grid = nlohmann::json::parse(inside(html, "data"))["grid"];
  EXPECT_EQ(grid["ranks"], 16);
  EXPECT_EQ(grid["programs"]["1f1b 2x1"]["of"][2], "AADADD 3(AD)");
  EXPECT_LT(html.size(), 1'800'000U);
}

// What the page does with such a text (writtenOut in page/programs.js).
std::string written_out(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    size_t times = 0;
    for (; std::isdigit(text[i]) != 0; ++i) times = 10 * times + size_t(text[i] - '0');
    const size_t end = text[i] == '(' ? text.find(')', i) : i;
    const std::string unit = text[i] == '(' ? text.substr(i + 1, end - i - 1) : text.substr(i, 1);
    for (size_t copy = 0; copy < std::max<size_t>(times, 1); ++copy) out += unit;
    i = end;
  }
  return out;
}

TEST(Page, RepeatsAreCountedAndCanBeWrittenOut) {
  EXPECT_EQ(run_length_form("AABCBCBC"), "AA3(BC)");
  EXPECT_EQ(run_length_form("AAABCBCBC"), "3A3(BC)");
  EXPECT_EQ(run_length_form("ABABA"), "ABABA");  // 2(AB)A is longer
  EXPECT_EQ(run_length_form(std::string(12, 'P')), "12P");
  EXPECT_EQ(run_length_form(""), "");
  for (const std::string& name : schedule_names()) {
    const std::string packed = packed_programs(make_schedule(name, 6, 30, default_chunks(name)));
    std::istringstream ranks(packed);
    for (std::string program; ranks >> program;) {
      const std::string counted = run_length_form(program);
      EXPECT_EQ(written_out(counted), program) << name;
    }
  }
}

// Every schedule at every size of the grid is in the order that packing relies on, or is refused as
// the program refuses it.
TEST(Page, ProgramsOfAllSizesCanBePacked) {
  const auto grid = nlohmann::json::parse(program_grid_json());
  for (const auto& [name, column] : grid["programs"].items()) {
    ASSERT_EQ(column["of"].size(), 32U) << name;
    for (const auto& one : column["of"]) {
      if (one.is_string()) continue;
      EXPECT_THAT(one["error"], Not(HasSubstr("out of order"))) << name;
    }
  }
}

}  // namespace
}  // namespace penstock

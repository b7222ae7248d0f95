#include "runtime/drawing/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/drawing/json.h"
#include "runtime/drawing/program_grid.h"

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

// Without the library inside, the programs of the sliders' sizes are, and can be read back.
TEST(Page, HoldsTheLibraryOrPrograms) {
  const auto with = page(answer({}));
  const auto without = page(answer({}), false);
  EXPECT_TRUE(inside(without, "engine").empty());
  const auto grid = nlohmann::json::parse(inside(without, "data"))["grid"];
  EXPECT_EQ(nlohmann::json::parse(inside(with, "data"))["grid"].is_null(),
            !inside(with, "engine").empty());
  EXPECT_EQ(grid["ranks"], 8);
  EXPECT_EQ(grid["programs"]["1f1b 2x1"]["of"][2], "AADADD ADADAD");
  EXPECT_LT(without.size(), 1'500'000U);
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

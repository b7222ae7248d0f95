#include "runtime/drawing/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/drawing/json.h"

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
  EXPECT_EQ(page_is_live(), !inside(html, "engine").empty());
}

}  // namespace
}  // namespace penstock

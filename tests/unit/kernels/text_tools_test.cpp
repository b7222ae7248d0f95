// tests/unit/kernels/text_tools_test.cpp -- lists as texts, and texts as numbers.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/joined.h"
#include "kernels/parse_number.h"

namespace penstock {
namespace {

TEST(Joined, HasTheTextBetweenAllElementsAndNowhereElse) {
  EXPECT_EQ(joined(std::vector<std::string>{"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(joined(std::vector<std::string>{"", "b", ""}, ","), ",b,");
  EXPECT_EQ(joined(std::vector<std::string>{"a"}, ", "), "a");
  EXPECT_EQ(joined(std::vector<std::string>{}, ", "), "");
}

TEST(Joined, TakesAFunctionOrAMemberForTheTextOfAnElement) {
  struct Named {
    std::string name;
  };
  EXPECT_EQ(joined(std::vector<Named>{{"x"}, {"y"}}, "+", &Named::name), "x+y");
  EXPECT_EQ(joined(std::vector{1, 2}, " ", [](int n) { return std::to_string(n); }), "1 2");
}

TEST(ParseNumber, TakesAWholeTextOrNothing) {
  EXPECT_EQ(parse_number<int32_t>("-12"), -12);
  EXPECT_EQ(parse_number<double>("2.5e3"), 2500.0);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "0x1", "99999999999"}) {
    EXPECT_EQ(parse_number<int32_t>(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace penstock

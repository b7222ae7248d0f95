// What of a growing text may be shown before it is known whether it ends there.
#include "launch/program/commands/stop_texts.h"

#include <gtest/gtest.h>

#include <vector>

namespace penstock {
namespace {

// The longer of several stops begins earlier; text is shown as soon as it can be no stop.
TEST(StopTexts, CutATextAndHoldBackWhatMayBecomeOne) {
  const std::vector<std::string> stops = {"\n\n", "User:", "Us and"};
  const auto shown = [&](std::string_view text, bool done) {
    return std::string(text.substr(0, bytes_to_show(text, stops, done)));
  };
  EXPECT_EQ(shown("well", false), "well");
  EXPECT_EQ(shown("well\n", false), "well");
  EXPECT_EQ(shown("well\n", true), "well\n");
  EXPECT_EQ(shown("well\nU", false), "well\n");
  EXPECT_EQ(shown("well\nUs", false), "well\n");
  EXPECT_EQ(shown("well\nUsb", false), "well\nUsb");
  EXPECT_EQ(shown("well\nUser: no\n\n", false), "well\n");
  EXPECT_EQ(shown("\n\nwell", true), "");
  EXPECT_TRUE(has_stop("a\n\nb", stops));
  EXPECT_FALSE(has_stop("a\nb User", stops));
}

TEST(StopTexts, HoldBackBytesThatAreNoCharacterYet) {
  EXPECT_EQ(bytes_to_show("ab\xEF\xBF\xBD", {}, false), 2U);
  EXPECT_EQ(bytes_to_show("ab\xEF\xBF\xBD", {}, true), 5U);
  EXPECT_EQ(bytes_to_show("", {}, false), 0U);
}

}  // namespace
}  // namespace penstock

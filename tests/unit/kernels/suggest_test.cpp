// Distances of the usual slips, and silence where nothing is near.
#include "kernels/suggest.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(EditDistance, CountsOneSlipAsOne) {
  EXPECT_EQ(edit_distance("stages", "stages"), 0);
  EXPECT_EQ(edit_distance("stagse", "stages"), 1);
  EXPECT_EQ(edit_distance("stage", "stages"), 1);
  EXPECT_EQ(edit_distance("sttages", "stages"), 1);
  EXPECT_EQ(edit_distance("stanes", "stages"), 1);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(DidYouMean, NamesTheNearestOrNothing) {
  EXPECT_EQ(did_you_mean("seeds", {"steps", "seed"}), "; did you mean 'seed'?");
  EXPECT_EQ(did_you_mean("completely", {"steps", "seed"}), "");
  EXPECT_EQ(did_you_mean("x", {"b"}), "");  // sharing no letter is not near
  EXPECT_EQ(did_you_mean("seed", {}), "");
  EXPECT_EQ(did_you_mean(std::string(1000, 'x'), {"steps"}), "");
}

}  // namespace
}  // namespace penstock

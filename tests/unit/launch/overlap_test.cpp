#include "launch/program/commands/overlap.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace penstock {
namespace {

// Of class 0 six pixels, two of them told to be 1; of class 1 two, one told to be 0; class 2 occurs
// nowhere, and class 3 is only told.
const std::vector<double> kCounts = {4, 2, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0};

TEST(Overlaps, AreIntersectionsOverUnions) {
  const Overlap overlap = overlap_of(kCounts, 4);
  EXPECT_DOUBLE_EQ(overlap.classes[0].value(), 4.0 / 7.0);
  EXPECT_DOUBLE_EQ(overlap.classes[1].value(), 0.0);
  EXPECT_FALSE(overlap.classes[2].has_value());
  EXPECT_DOUBLE_EQ(overlap.classes[3].value(), 0.0);
  EXPECT_DOUBLE_EQ(overlap.mean, 4.0 / 21.0) << "over the three classes that have one";
  EXPECT_DOUBLE_EQ(overlap_of(std::vector<double>(4), 2).mean, 0.0);
}

TEST(Overlaps, AreToldByClass) {
  const Overlap overlap = overlap_of(kCounts, 4);
  EXPECT_EQ(overlap_text({"sky", "tree", "2", "3"}, overlap),
            "IoU sky   57.14 %\n"
            "IoU tree   0.00 %\n"
            "IoU 2      none: no pixel is of it or told to be\n"
            "IoU 3      0.00 %\n"
            "IoU mean  19.05 %\n");
  nlohmann::ordered_json json;
  add_overlap(overlap, json);
  EXPECT_EQ(json["iou"].size(), 4U);
  EXPECT_TRUE(json["iou"][2].is_null());
  EXPECT_DOUBLE_EQ(json["mean_iou"].get<double>(), 4.0 / 21.0);
}

}  // namespace
}  // namespace penstock

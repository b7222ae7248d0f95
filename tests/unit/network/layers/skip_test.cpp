// Skip connections: who may stash and pop what, and the shapes that come of it.
#include "runtime/network/layers/skip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/network/layers/container.h"
#include "runtime/network/layers/library/linear.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;

void add_stash(Layers& layers, const std::string& name, const std::string& skip) {
  layers.push_back(std::make_unique<Stash>(name, skip));
}
void add_pop(Layers& layers, const std::string& name, const std::string& skip,
             Pop::Join join = Pop::Join::Concat) {
  layers.push_back(std::make_unique<Pop>(name, skip, join));
}
void add_linear(Layers& layers, const std::string& name, int64_t in, int64_t out) {
  layers.push_back(std::make_unique<Linear>(name, Linear::Options{.in = in, .out = out}));
}

template <class Function>
std::string refusal(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    return error.what();
  }
  return "";
}
std::string refusal(const Layers& layers) {
  return refusal([&] { (void)find_skips(layers); });
}

TEST(Skips, AreFoundInTheOrderOfTheirStashes) {
  Layers layers;
  add_stash(layers, "s1", "outer");
  add_linear(layers, "l1", 4, 4);
  add_stash(layers, "s2", "inner");
  add_pop(layers, "p2", "inner");
  add_pop(layers, "p1", "outer");
  const std::vector<SkipPath> skips = find_skips(layers);
  ASSERT_EQ(skips.size(), 2U);
  EXPECT_EQ(skips[0].name, "outer");
  EXPECT_EQ(skips[0].from_layer, 0U);
  EXPECT_EQ(skips[0].to_layer, 4U);
  EXPECT_EQ(skips[1].name, "inner");
  EXPECT_EQ(skips[1].to_layer, 3U);
}

TEST(Skips, MustBeStashedOnceThenPoppedOnce) {
  Layers early;
  add_pop(early, "p", "a");
  add_stash(early, "s", "a");
  EXPECT_THAT(refusal(early), AllOf(HasSubstr("'p'"), HasSubstr("'a'"), HasSubstr("no layer")));

  Layers never;
  add_stash(never, "s", "a");
  EXPECT_THAT(refusal(never), AllOf(HasSubstr("'s'"), HasSubstr("never popped")));

  Layers twice;
  add_stash(twice, "s", "a");
  add_pop(twice, "p", "a");
  add_pop(twice, "q", "a");
  EXPECT_THAT(refusal(twice), AllOf(HasSubstr("'q'"), HasSubstr("as 'p' did before")));

  Layers again;
  add_stash(again, "s", "a");
  add_stash(again, "t", "a");
  add_pop(again, "p", "a");
  EXPECT_THAT(refusal(again), AllOf(HasSubstr("'t'"), HasSubstr("second skip")));
}

TEST(Skips, ShapesAreThoseOfTheStash) {
  Layers layers;
  add_linear(layers, "narrow", 6, 4);
  add_stash(layers, "s", "a");
  add_linear(layers, "wide", 4, 5);
  add_pop(layers, "p", "a");
  ShapeWalk walk({{2, 3, 6}});
  for (const auto& layer : layers) walk.next(*layer);
  EXPECT_EQ(walk.skipped("a"), (Shape{2, 3, 4}));
  ASSERT_EQ(walk.between().size(), 1U);
  EXPECT_EQ(walk.between()[0], (Shape{2, 3, 9}));
}

TEST(Skips, MisfitsAreRefusedByTheLayersName) {
  Layers layers;
  add_stash(layers, "s", "a");
  add_linear(layers, "wide", 4, 5);
  add_pop(layers, "sum", "a", Pop::Join::Add);
  const std::string message = refusal([&] {
    ShapeWalk walk({{2, 4}});
    for (const auto& layer : layers) walk.next(*layer);
  });
  EXPECT_THAT(message, AllOf(HasSubstr("'sum'"), HasSubstr("[2, 5]"), HasSubstr("[2, 4]")));
}

TEST(Skips, StayOutOfContainers) {
  Layers inside;
  add_stash(inside, "s", "a");
  const Group group("group", "group", std::move(inside));
  EXPECT_THAT(refusal([&] {
                (void)group.infer({{2, 4}});
              }),
              AllOf(HasSubstr("'group'"), HasSubstr("'s'")));
}

}  // namespace
}  // namespace penstock

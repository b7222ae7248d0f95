// Patterns of names, with those that take names out again.
#include "runtime/network/autograd/name_patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Names = std::vector<std::string>;

const Names kNames = {"embedding.weight", "blocks.0.query.weight", "blocks.0.query.lora_a",
                      "blocks.1.query.lora_b", "classifier.weight"};

Names chosen(const Names& patterns) {
  Names some;
  for (const std::string& name : kNames) {
    if (matches_any(name, patterns)) some.push_back(name);
  }
  return some;
}

std::string refusal(const Names& patterns) {
  try {
    refuse_unmatched("freeze", patterns, kNames);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    return error.what();
  }
  return "";
}

TEST(NamePatterns, ChooseAsAShellDoes) {
  EXPECT_THAT(chosen({}), ElementsAre());
  EXPECT_EQ(chosen({"*"}), kNames);
  EXPECT_THAT(chosen({"blocks.[1-9].*", "embedding.weight"}),
              ElementsAre("embedding.weight", "blocks.1.query.lora_b"));
  EXPECT_THAT(chosen({"*.lora_?"}), ElementsAre("blocks.0.query.lora_a", "blocks.1.query.lora_b"));
}

TEST(NamePatterns, TakeOutAgainWhatFitsBehindAnExclamationMark) {
  EXPECT_THAT(chosen({"*", "!*.lora_?"}),
              ElementsAre("embedding.weight", "blocks.0.query.weight", "classifier.weight"));
  EXPECT_THAT(chosen({"!*.lora_?"}), ElementsAre()) << "nothing was chosen before";
}

TEST(NamePatterns, LetTheLastThatFitsDecide) {
  EXPECT_THAT(chosen({"*", "!blocks.*", "blocks.0.*"}),
              ElementsAre("embedding.weight", "blocks.0.query.weight", "blocks.0.query.lora_a",
                          "classifier.weight"));
  EXPECT_EQ(chosen({"!blocks.*", "*"}), kNames);
}

TEST(NamePatterns, AreRefusedWhereTheyFitNothing) {
  EXPECT_EQ(refusal({"*", "!*.lora_?", "!embedding.weight"}), "");
  EXPECT_THAT(refusal({"clasifier.*"}), HasSubstr("did you mean 'classifier.*'?"));
  EXPECT_THAT(refusal({"*", "!*.lora_c"}), HasSubstr("freeze: no tensor of the network is called "
                                                     "'!*.lora_c'"));
}

}  // namespace
}  // namespace penstock

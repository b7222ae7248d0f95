// Who says how texts are written: the user first, then the folder.
#include "launch/program/commands/generation_defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Letters final : public Tokenizer {
 public:
  explicit Letters(int32_t end) : end_(end) {}
  [[nodiscard]] int64_t size() const override { return 256; }
  [[nodiscard]] std::vector<int32_t> encode(std::string_view text) const override {
    return {text.begin(), text.end()};
  }
  [[nodiscard]] std::string decode(std::span<const int32_t> ids) const override {
    return {ids.begin(), ids.end()};
  }
  [[nodiscard]] int32_t start() const override { return 0; }
  [[nodiscard]] SpecialIds special() const override { return {.end = end_}; }

 private:
  int32_t end_;
};

TEST(GenerationDefaults, AreTheFoldersWhereTheUserSaysNothing) {
  GenerationOptions options;
  const GenerationConfig folder{.path = "m/generation_config.json",
                                .ends = {'z', 'x'},
                                .stops = {"\n"},
                                .temperature = 0.7,
                                .top_p = 0.8,
                                .min_p = 0.1,
                                .repetition_penalty = 1.1,
                                .top_k = 20,
                                .tokens = 64};
  GenerationAsked asked;
  asked.temperature = 0.5;
  EXPECT_THAT(settle_generation(options, asked, folder, Letters('z')),
              ElementsAre("m/generation_config.json says: tokens 64, top-k 20, top-p 0.8, min-p "
                          "0.1, repetition penalty 1.1; a text also ends with token 120 (x); a "
                          "text also ends before \"\\n\""));
  EXPECT_EQ(options.tokens, 64);
  EXPECT_EQ(options.sampling.min_p, 0.1);
  EXPECT_EQ(options.sampling.temperature, 0.5);
  EXPECT_EQ(options.sampling.top_k, 20);
  EXPECT_EQ(options.sampling.top_p, 0.8);
  EXPECT_EQ(options.sampling.repetition_penalty, 1.1);
  EXPECT_THAT(options.ends, ElementsAre('z', 'x'));
}

TEST(GenerationDefaults, AreTheUsualWithoutAFolder) {
  GenerationOptions options;
  GenerationAsked asked;
  asked.top_k = 3;
  EXPECT_THAT(settle_generation(options, asked, {}, Letters(-1)), IsEmpty());
  EXPECT_EQ(options.tokens, 200);
  EXPECT_EQ(options.sampling.temperature, 1.0);
  EXPECT_EQ(options.sampling.top_k, 3);
  EXPECT_EQ(options.sampling.repetition_penalty, 1.0);
  EXPECT_THAT(options.ends, IsEmpty());
}

// An id that no token has was once taken in silence, and texts did not end.
TEST(GenerationDefaults, SayThatNoTextCanEndWithATokenThatIsNone) {
  GenerationOptions options;
  const GenerationConfig folder{.path = "m/config.json", .ends = {256, 'x', 1000000}};
  EXPECT_THAT(
      settle_generation(options, {}, folder, Letters(-1)),
      ElementsAre("m/config.json says: a text also ends with token 120 (x); no text can end "
                  "with token 256, 1000000, since there are 256 tokens: correct "
                  "eos_token_id"));
  EXPECT_THAT(options.ends, ElementsAre('x'));
}

TEST(GenerationDefaults, SayWhatIsNotFollowed) {
  GenerationOptions options;
  const GenerationConfig folder{.path = "m/generation_config.json",
                                .longest = 4096,
                                .ignored = {"num_beams 4", "typical_p 0.9"}};
  EXPECT_THAT(settle_generation(options, {}, folder, Letters(-1)),
              ElementsAre("m/generation_config.json also says what is not followed: num_beams 4, "
                          "typical_p 0.9, max_length 4096 (--tokens is 200)"));
  GenerationAsked asked;
  asked.tokens = 7;
  EXPECT_THAT(settle_generation(options, asked, folder, Letters(-1)),
              ElementsAre("m/generation_config.json also says what is not followed: num_beams 4, "
                          "typical_p 0.9"));
}

TEST(GenerationDefaults, TellOfAContextThatTextsDoNotNeed) {
  EXPECT_EQ(context_note(32768, 206, int64_t{3} << 30),
            "the cache has place for model.context = 32768 positions of each row, 3.00 GiB; these "
            "texts need 206 at most, and --model.context 256 takes less memory");
  EXPECT_EQ(context_note(32768, 9000, 1 << 20), "");
  EXPECT_EQ(context_note(1024, 20, 1 << 20), "");
  EXPECT_EQ(context_note(32768, 206, 0), "") << "without a cache";
}

}  // namespace
}  // namespace penstock

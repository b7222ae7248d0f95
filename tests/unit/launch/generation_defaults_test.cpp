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
                                .temperature = 0.7,
                                .top_p = 0.8,
                                .repetition_penalty = 1.1,
                                .top_k = 20};
  SamplingAsked asked;
  asked.temperature = 0.5;
  EXPECT_EQ(settle_generation(options, asked, folder, Letters('z')),
            "m/generation_config.json says: top-k 20, top-p 0.8, repetition penalty 1.1; a text "
            "also ends with token 120 (x)");
  EXPECT_EQ(options.sampling.temperature, 0.5);
  EXPECT_EQ(options.sampling.top_k, 20);
  EXPECT_EQ(options.sampling.top_p, 0.8);
  EXPECT_EQ(options.sampling.repetition_penalty, 1.1);
  EXPECT_THAT(options.ends, ElementsAre('z', 'x'));
}

TEST(GenerationDefaults, AreTheUsualWithoutAFolder) {
  GenerationOptions options;
  SamplingAsked asked;
  asked.top_k = 3;
  EXPECT_EQ(settle_generation(options, asked, {}, Letters(-1)), "");
  EXPECT_EQ(options.sampling.temperature, 1.0);
  EXPECT_EQ(options.sampling.top_k, 3);
  EXPECT_EQ(options.sampling.repetition_penalty, 1.0);
  EXPECT_THAT(options.ends, IsEmpty());
}

TEST(GenerationDefaults, TellOfAContextThatTextsDoNotNeed) {
  EXPECT_EQ(context_note(32768, 206),
            "the first token of each text is computed over model.context = 32768 positions; these "
            "texts need 206 at most, and --model.context 256 takes less time and memory");
  EXPECT_EQ(context_note(32768, 9000), "");
  EXPECT_EQ(context_note(1024, 20), "");
}

}  // namespace
}  // namespace penstock

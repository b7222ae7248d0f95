// What a resumed run may change, and how what it may not is refused.
#include "runtime/engine/training/checkpoints/resume_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.h"

namespace penstock {
namespace {

using testing::HasSubstr;

// A run file as write_run_file() writes it, with one key of interest.
std::string run_file(const std::string& section, const std::string& key, const std::string& value) {
  return "# written by penstock\n# Itself a run file.\n\n[other]\nkind = \"x\"\n\n[" + section +
         "]\nfirst = 1\n" + key + " = " + value + "\nlast = \"y\"\n";
}

std::string changes(const std::string& section, const std::string& key, const std::string& saved,
                    const std::string& given) {
  return describe(compare_for_resume(run_file(section, key, saved), run_file(section, key, given)));
}

// Empty where the change is allowed.
std::string refusal(const std::string& section, const std::string& key, const std::string& saved,
                    const std::string& given) {
  try {
    (void)changes(section, key, saved, given);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    return error.what();
  }
  return "";
}

TEST(ResumeRules, LetHowARunIsSpreadAndHowLongItGoesOnChange) {
  EXPECT_EQ(changes("pipeline", "stages", "2", "2"), "");
  EXPECT_EQ(changes("pipeline", "stages", "2", "4"), "pipeline.stages 2 -> 4");
  EXPECT_EQ(changes("pipeline", "replicas", "1", "2"), "pipeline.replicas 1 -> 2");
  EXPECT_EQ(changes("pipeline", "micro_batch_size", "8", "4"), "pipeline.micro_batch_size 8 -> 4");
  EXPECT_EQ(changes("pipeline", "schedule", "\"1f1b\"", "\"zb-v\""),
            "pipeline.schedule \"1f1b\" -> \"zb-v\"");
  for (const char* key : {"steps", "threads", "device", "out", "precision", "eval_every"}) {
    EXPECT_EQ(refusal("run", key, "1", "2"), "") << key;
  }
  EXPECT_EQ(refusal("checkpoint", "every", "100", "0"), "");
  EXPECT_EQ(refusal("lora", "from", "\"a\"", "\"\""), "") << "adapters, too";
  EXPECT_EQ(refusal("init", "from", "\"a\"", "\"\""), "") << "weights come from the checkpoint";
  for (const char* key : {"learning_rate", "schedule", "weight_decay", "clip_norm"}) {
    EXPECT_EQ(refusal("optimizer", key, "1", "2"), "") << key;
  }
}

TEST(ResumeRules, RefuseWhatMakesItAnotherRunWithBothValues) {
  const std::string text = refusal("run", "seed", "7", "8");
  EXPECT_THAT(text, HasSubstr("run.seed was 7 when it was saved and is 8 now"));
  EXPECT_THAT(text, HasSubstr("--init"));
  for (const auto& [section, key] : {std::pair{"model", "width"},
                                     {"model", "dropout"},
                                     {"data", "kind"},
                                     {"data", "shuffle"},
                                     {"optimizer", "kind"},
                                     {"optimizer", "freeze"},
                                     {"optimizer", "adamw_for"},
                                     {"lora", "rank"},
                                     {"lora", "targets"},
                                     {"a_new_section", "key"}}) {
    EXPECT_THAT(refusal(section, key, "1", "2"),
                HasSubstr(std::string(section) + "." + key + " was 1 when"));
  }
}

TEST(ResumeRules, RefuseToSwitchStateOnOrOff) {
  for (const char* key : {"momentum", "moving_average"}) {
    EXPECT_EQ(refusal("optimizer", key, "0.9", "0.99"), "") << key;
    EXPECT_NE(refusal("optimizer", key, "0.9", "0.0"), "") << key;
    EXPECT_NE(refusal("optimizer", key, "0", "0.9"), "") << key;
    EXPECT_EQ(refusal("optimizer", key, "0", "0.0"), "") << key;
  }
}

TEST(ResumeRules, LetSizesBeWrittenDownThatTheDataGave) {
  EXPECT_EQ(refusal("model", "vocabulary", "0", "65"), "");
  EXPECT_EQ(refusal("model", "classes", "10", "0"), "");
  EXPECT_NE(refusal("model", "classes", "10", "5"), "");
}

TEST(ResumeRules, LetFilesLieElsewhereUnderTheSameName) {
  EXPECT_EQ(refusal("data", "train", "\"/a/input.txt\"", "\"/b/c/input.txt\""), "");
  EXPECT_EQ(refusal("data", "train", "'/a/input.txt'", "\"input.txt\""), "");
  EXPECT_EQ(refusal("data", "vocabulary", "''", "\"\""), "");
  EXPECT_NE(refusal("data", "train", "\"/a/input.txt\"", "\"/a/other.txt\""), "");
  EXPECT_NE(refusal("data", "train", "\"/a/input.txt\"", "\"put.txt\""), "");
  EXPECT_NE(refusal("data", "validation", "\"0.1\"", "\"0.2\""), "");
}

TEST(ResumeRules, CompareListsOfLayersAndIgnoreKeysOfOtherVersions) {
  const std::string layers = "[\n  { kind = \"linear\", width = 4 },\n  { kind = \"gelu\" },\n]";
  const std::string others = "[\n  { kind = \"linear\", width = 4 },\n  { kind = \"relu\" },\n]";
  EXPECT_EQ(refusal("model", "layers", layers, layers), "");
  EXPECT_THAT(refusal("model", "layers", layers, others), HasSubstr("model.layers was ["));
  EXPECT_EQ(refusal("model", "layers", layers, others).find('\n'), std::string::npos);
  EXPECT_TRUE(compare_for_resume("[model]\nold = 1\n", "[model]\nnew_one = 2\n").empty());
  EXPECT_TRUE(compare_for_resume("", "[model]\nwidth = 2\n").empty());
  EXPECT_TRUE(compare_for_resume("[\n = \n]\n[]\nx\n = = \n", "[model]\nwidth = 2\n").empty());
}

}  // namespace
}  // namespace penstock

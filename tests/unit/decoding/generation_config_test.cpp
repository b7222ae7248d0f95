// generation_config.json in the forms that published folders have, and what is none.
#include "runtime/decoding/generation_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class GenerationFile : public testing::Test {
 protected:
  GenerationConfig of(const std::string& json) {
    (void)folder_.write("generation_config.json", json);
    return read_generation_config(folder_.path());
  }
  void refused(const std::string& json, const std::string& key) {
    try {
      (void)of(json);
      ADD_FAILURE() << json;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Data);
      EXPECT_THAT(error.what(), HasSubstr("generation_config.json: \"" + key + "\" must be "));
    }
  }
  TemporaryFolder folder_;
};

// As Qwen 2.5 has it.
TEST_F(GenerationFile, SaysHowToSampleAndWhereTextsEnd) {
  const GenerationConfig found = of(R"({"bos_token_id": 151643, "pad_token_id": 151643,
    "do_sample": true, "eos_token_id": [151645, 151643], "repetition_penalty": 1.1,
    "temperature": 0.7, "top_p": 0.8, "top_k": 20, "transformers_version": "4.37.0"})");
  EXPECT_THAT(found.ends, ElementsAre(151645, 151643));
  EXPECT_EQ(found.temperature, 0.7);
  EXPECT_EQ(found.top_p, 0.8);
  EXPECT_EQ(found.top_k, 20);
  EXPECT_EQ(found.repetition_penalty, 1.1);
}

TEST_F(GenerationFile, MayNameOneEndAndNothingElse) {
  const GenerationConfig found = of(R"({"eos_token_id": 2, "temperature": null})");
  EXPECT_THAT(found.ends, ElementsAre(2));
  EXPECT_FALSE(found.temperature || found.top_p || found.top_k || found.repetition_penalty);
  EXPECT_THAT(of(R"({"eos_token_id": null})").ends, IsEmpty());
}

TEST_F(GenerationFile, ThatSaysNotToSampleMeansTheMostProbable) {
  EXPECT_EQ(of(R"({"do_sample": false, "temperature": 0.6})").temperature, 0.0);
}

TEST_F(GenerationFile, WhereThereIsNoneTheEndIsThatOfTheNetwork) {
  EXPECT_THAT(read_generation_config(folder_.path()).ends, IsEmpty());
  (void)folder_.write("config.json", R"({"eos_token_id": [7], "temperature": 3})");
  const GenerationConfig found = read_generation_config(folder_.path());
  EXPECT_THAT(found.ends, ElementsAre(7));
  EXPECT_FALSE(found.temperature);
}

TEST_F(GenerationFile, RefusesWhatAKeyCannotBe) {
  refused(R"({"eos_token_id": "</s>"})", "eos_token_id");
  refused(R"({"eos_token_id": [1, -2]})", "eos_token_id");
  refused(R"({"temperature": -0.5})", "temperature");
  refused(R"({"temperature": "warm"})", "temperature");
  refused(R"({"top_p": 0})", "top_p");
  refused(R"({"top_p": 1.5})", "top_p");
  refused(R"({"top_k": -1})", "top_k");
  refused(R"({"repetition_penalty": 0})", "repetition_penalty");
}

}  // namespace
}  // namespace penstock

// generation_config.json in the forms that published folders have, and what is none.
#include "runtime/engine/decoding/generation_config.h"

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

// The file of Qwen 2.5.
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

TEST_F(GenerationFile, SaysHowManyTokensAndWhichTextsEndOne) {
  const GenerationConfig found = of(
      R"({"min_p": 0.05, "max_new_tokens": 64, "max_length": 90, "stop_strings": ["\n", "END"]})");
  EXPECT_EQ(found.min_p, 0.05);
  EXPECT_EQ(found.tokens, 64);
  EXPECT_FALSE(found.longest) << "as in transformers, max_new_tokens counts where both are there";
  EXPECT_THAT(found.stops, ElementsAre("\n", "END"));
  EXPECT_EQ(of(R"({"max_length": 90})").longest, 90);
  EXPECT_THAT(of(R"({"stop_strings": "END"})").stops, ElementsAre("END"));
}

// Each with a value that it has in some published folder.
TEST_F(GenerationFile, NamesWhatIsNotFollowed) {
  EXPECT_THAT(of(R"({"num_beams": 4, "no_repeat_ngram_size": 3, "length_penalty": 2.0,
    "early_stopping": true, "typical_p": 0.95, "penalty_alpha": 0.6, "forced_eos_token_id": 2,
    "begin_suppress_tokens": [220, 50256], "bad_words_ids": [[1], [2, 3]],
    "suppress_tokens": [1, 2, 7, 8, 9, 10, 14, 25, 26, 27, 28, 29]})")
                  .ignored,
              ElementsAre("num_beams 4", "no_repeat_ngram_size 3", "typical_p 0.95",
                          "penalty_alpha 0.6", "suppress_tokens [1,2,7,8,9,10,14,25,26,27,28,29]",
                          "begin_suppress_tokens [220,50256]", "bad_words_ids [[1],[2,3]]",
                          "forced_eos_token_id 2"));
  const GenerationConfig many =
      of("{\"suppress_tokens\": [1000000, 2000000, 3000000, 4000000, 5000000, 6000000], "
         "\"sequence_bias\": {\"\u00e9\": \"\\n\"}}");
  EXPECT_THAT(many.ignored,
              ElementsAre("suppress_tokens [1000000,2000000,3000000,4000000,5000000...",
                          "sequence_bias {\"\\u00e9\":\"\\n\"}"))
      << "a line, however long the list";
}

// The defaults of transformers 5.24 (_get_default_generation_params), and what changes no text.
TEST_F(GenerationFile, SaysNothingOfValuesThatChangeNothing) {
  EXPECT_THAT(of(R"({"min_length": 0, "do_sample": true, "use_cache": true, "early_stopping": false,
    "num_beams": 1, "typical_p": 1.0, "length_penalty": 1.0, "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0, "bad_words_ids": null, "num_return_sequences": 1,
    "output_scores": false, "return_dict_in_generate": false, "forced_bos_token_id": null,
    "forced_eos_token_id": null, "remove_invalid_values": false,
    "exponential_decay_length_penalty": null, "suppress_tokens": [], "begin_suppress_tokens": null,
    "epsilon_cutoff": 0.0, "eta_cutoff": 0, "encoder_repetition_penalty": 1, "num_beam_groups": 1,
    "diversity_penalty": 0.0, "num_assistant_tokens": 20, "pad_token_id": 0, "guidance_scale": null,
    "transformers_version": "5.24.0", "_from_model_config": true, "a_key_of_ones_own": 3})")
                  .ignored,
              IsEmpty());
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
  refused(R"({"top_k": 2.5})", "top_k");
  refused(R"({"top_k": 20.0})", "top_k");
  refused(R"({"top_k": "20"})", "top_k");
  refused(R"({"top_k": 18446744073709551615})", "top_k");
  refused(R"({"temperature": true})", "temperature");
  refused(R"({"do_sample": "false"})", "do_sample");
  refused(R"({"do_sample": 0})", "do_sample");
  refused(R"({"min_p": 1.5})", "min_p");
  refused(R"({"max_new_tokens": 0})", "max_new_tokens");
  refused(R"({"max_new_tokens": 12.5})", "max_new_tokens");
  refused(R"({"max_length": "long"})", "max_length");
  refused(R"({"stop_strings": ["x", ""]})", "stop_strings");
  refused(R"({"stop_strings": 7})", "stop_strings");
  refused(R"({"eos_token_id": 2.0})", "eos_token_id");
  refused(R"({"eos_token_id": [[2]]})", "eos_token_id");
}

}  // namespace
}  // namespace penstock

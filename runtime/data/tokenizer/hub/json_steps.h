// runtime/data/tokenizer/hub/json_steps.h -- reads the parts "normalizer", "pre_tokenizer" and
// "decoder" of a tokenizer.json as steps.
#pragma once

#include <vector>

#include "runtime/data/tokenizer/hub/json_source.h"
#include "runtime/data/tokenizer/steps/normalizer.h"
#include "runtime/data/tokenizer/steps/pre_tokenizer.h"
#include "runtime/data/tokenizer/steps/token_decoder.h"

namespace penstock {

// All throw as JsonSource does, naming the step. A null pointer, or a part that is null: no steps.

[[nodiscard]] std::vector<NormalStep> read_normal_steps(const JsonSource& source,
                                                        const nlohmann::json* normalizer);

// Sets `byte_level` where the last step writes the words in the byte alphabet.
[[nodiscard]] std::vector<PreTokenizerStep> read_pre_tokenizer(const JsonSource& source,
                                                               const nlohmann::json* pre_tokenizer,
                                                               bool& byte_level);

[[nodiscard]] std::vector<DecoderStep> read_decoder(const JsonSource& source,
                                                    const nlohmann::json* decoder);

}  // namespace penstock

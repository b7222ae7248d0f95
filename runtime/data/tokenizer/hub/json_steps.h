// runtime/data/tokenizer/hub/json_steps.h -- reads the parts "normalizer", "pre_tokenizer" and
// "decoder" of a tokenizer.json, each of which is one step or a sequence of steps, as lists of
// steps. A new "type" of one of them is a branch in json_steps.cpp; where it changes the ids of
// texts that were read before, kCutVersion (runtime/data/tokens/cut_text.h) is raised.
#pragma once

#include <vector>

#include "runtime/data/tokenizer/hub/json_source.h"
#include "runtime/data/tokenizer/steps/normalizer.h"
#include "runtime/data/tokenizer/steps/pre_tokenizer.h"
#include "runtime/data/tokenizer/steps/token_decoder.h"

namespace penstock {

// All take the part as JSON; a null pointer, or a part that is null, means no steps. All throw as
// JsonSource does: Error(Input) for a step that is not supported, Error(Data) for a damaged one.

[[nodiscard]] std::vector<NormalStep> read_normal_steps(const JsonSource& source,
                                                        const nlohmann::json* normalizer);

// Sets `byte_level` to true if the last step writes words in the byte alphabet (byte_alphabet.h);
// no step of the result does that, since WordModel takes plain bytes (WordModelData::byte_level).
[[nodiscard]] std::vector<PreTokenizerStep> read_pre_tokenizer(const JsonSource& source,
                                                               const nlohmann::json* pre_tokenizer,
                                                               bool& byte_level);

[[nodiscard]] std::vector<DecoderStep> read_decoder(const JsonSource& source,
                                                    const nlohmann::json* decoder);

}  // namespace penstock

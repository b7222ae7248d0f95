// launch/program/commands/generation_defaults.h -- how texts are chosen and where they end: what
// the user says, or else what the network's folder says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/config.h"
#include "runtime/data/tokenizer/tokenizer.h"
#include "runtime/engine/decoding/generation_config.h"
#include "runtime/engine/decoding/generator.h"

namespace penstock {

// What the command line says of generation; what it does not say is nothing.
struct GenerationAsked {
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<int64_t> top_k, tokens;
};

// Sets tokens, sampling and ends of `options`, which has the usual values, by `asked` or else by
// `folder`. A text ends at the tokenizer's end token, where it has one, and at those that `folder`
// names and the tokenizer has. Returns lines that say what was taken from the folder's file, and
// which of its keys are ignored.
[[nodiscard]] std::vector<std::string> settle_generation(GenerationOptions& options,
                                                         const GenerationAsked& asked,
                                                         const GenerationConfig& folder,
                                                         const Tokenizer& tokenizer);

// A note where texts have at most `longest` tokens, but the key/value cache, of `cache` bytes, has
// room for the `context` tokens that the network sees, many times as many. Empty: nothing to say.
[[nodiscard]] std::string context_note(int64_t context, int64_t longest, int64_t cache);

}  // namespace penstock

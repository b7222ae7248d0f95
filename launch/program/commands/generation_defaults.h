// launch/program/commands/generation_defaults.h -- settles the options of text generation: what the
// user gives on the command line, else what the network's Hugging Face folder advises
// (generation_config.h), else Penstock's defaults.
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

// What the command line says; an option that was not given is nothing.
struct GenerationAsked {
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<int64_t> top_k, tokens;
};

// Sets tokens, sampling and ends of `options`, which come with Penstock's defaults, by `asked` or
// else by `folder`. A text ends at the tokenizer's end token, if it has one, and at those tokens of
// `folder` that the tokenizer has. Returns lines for the user: what was taken from the folder's
// file, and which of its keys are ignored.
[[nodiscard]] std::vector<std::string> settle_generation(GenerationOptions& options,
                                                         const GenerationAsked& asked,
                                                         const GenerationConfig& folder,
                                                         const Tokenizer& tokenizer);

// A note for the user that memory is wasted: the key/value cache, of `cache` bytes, has room for
// `context` tokens of each text (model.context), but no text gets longer than `longest` tokens, a
// fourth of that or less. Empty otherwise, and where the cache is off (0 bytes) or `context` is
// small.
[[nodiscard]] std::string context_note(int64_t context, int64_t longest, int64_t cache);

}  // namespace penstock

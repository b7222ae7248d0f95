// launch/program/commands/generation_defaults.h -- how texts are chosen and where they end: what
// the user says, and where that is nothing what the network's folder says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/data/config.h"
#include "runtime/data/text/tokenizer.h"
#include "runtime/decoding/generation_config.h"
#include "runtime/decoding/generator.h"

namespace penstock {

// What the command line says of sampling.
struct SamplingAsked {
  std::optional<double> temperature, top_p, repetition_penalty;
  std::optional<int64_t> top_k;
};

// Fills in sampling and ends of `options`, which has the usual values; a text ends at the
// tokenizer's end, where it has one, and at those that `folder` names. Returns a line that says
// what was taken from the folder's file; empty: nothing.
[[nodiscard]] std::string settle_generation(GenerationOptions& options, const SamplingAsked& asked,
                                            const GenerationConfig& folder,
                                            const Tokenizer& tokenizer);

// What to say where texts of at most `longest` tokens are written by a network that sees `context`,
// many times as many: the first token of each is computed over all of them. Empty: nothing.
[[nodiscard]] std::string context_note(int64_t context, int64_t longest);

}  // namespace penstock

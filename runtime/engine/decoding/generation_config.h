// runtime/engine/decoding/generation_config.h -- what a Hugging Face folder says of how its network
// writes: generation_config.json, and where that is not there config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/decoding/sampling.h"

namespace penstock {

struct GenerationConfig {
  std::string path = {};                // of the file that says it; empty: none does
  std::vector<int32_t> ends = {};       // tokens that end a text
  std::vector<std::string> stops = {};  // texts that end one, none empty
  // What it says of sampling; "do_sample": false is a temperature of 0.
  std::optional<double> temperature = {}, top_p = {}, min_p = {}, repetition_penalty = {};
  std::optional<int64_t> top_k = {};
  std::optional<int64_t> tokens = {};   // how many more, at most: "max_new_tokens"
  std::optional<int64_t> longest = {};  // how many with the prompt, where `tokens` is not there
  // Keys by which transformers would write other texts, and nobody here does anything, each with
  // its value: "num_beams 4". None has the value that changes nothing.
  std::vector<std::string> ignored = {};
};

// Throws Error(Data) naming file and key where a value is none that the key can have.
[[nodiscard]] GenerationConfig read_generation_config(const std::string& folder);

}  // namespace penstock

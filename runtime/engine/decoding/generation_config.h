// runtime/engine/decoding/generation_config.h -- what a Hugging Face folder says of how its network
// writes: generation_config.json or, without that file, the end tokens in config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/decoding/sampling.h"

namespace penstock {

struct GenerationConfig {
  std::string path = {};                // of the file that was read; empty: there is none
  std::vector<int32_t> ends = {};       // tokens that end a text
  std::vector<std::string> stops = {};  // strings that end a text, none empty
  // Options of sampling; "do_sample": false is a temperature of 0.
  std::optional<double> temperature = {}, top_p = {}, min_p = {}, repetition_penalty = {};
  std::optional<int64_t> top_k = {};
  std::optional<int64_t> tokens = {};   // the most that are added to a prompt: "max_new_tokens"
  std::optional<int64_t> longest = {};  // the most with the prompt; nothing where `tokens` is given
  // Keys that would change what transformers writes and that are ignored here, each with its value:
  // "num_beams 4". A key whose value changes nothing is not listed.
  std::vector<std::string> ignored = {};
};

// Reads the folder's file. Throws Error(Data) naming file and key for a value that the key cannot
// have.
[[nodiscard]] GenerationConfig read_generation_config(const std::string& folder);

}  // namespace penstock

// runtime/engine/decoding/generation_config.h -- GenerationConfig: the defaults for generating text
// that come with a network from Hugging Face.
//
// A downloaded folder may have a file generation_config.json with the end tokens, temperature,
// top_k and so on that its authors advise. `penstock generate` takes these values for options that
// the user does not give. Without that file only the end tokens are known, from config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/decoding/sampling.h"

namespace penstock {

struct GenerationConfig {
  std::string path = {};           // of the file that was read; empty: the folder has neither file
  std::vector<int32_t> ends = {};  // ids of the tokens that end a text
  std::vector<std::string> stops = {};  // strings that end a text, none of them empty
  // Options of sampling (sampling.h); each is nothing where the file does not set it. "do_sample":
  // false is read as a temperature of 0.
  std::optional<double> temperature = {}, top_p = {}, min_p = {}, repetition_penalty = {};
  std::optional<int64_t> top_k = {};
  // "max_new_tokens": the most tokens that are added to a prompt
  std::optional<int64_t> tokens = {};
  // "max_length": the most tokens with the prompt; nothing where `tokens` is given
  std::optional<int64_t> longest = {};
  // Keys that Penstock does not support and that would change what the library transformers
  // generates, each with its value: "num_beams 4". A key whose value changes nothing is not listed.
  std::vector<std::string> ignored = {};
};

// Reads the files of `folder`. Throws Error(Data) naming file and key for a value that the key
// cannot have.
[[nodiscard]] GenerationConfig read_generation_config(const std::string& folder);

}  // namespace penstock

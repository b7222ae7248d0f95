// runtime/decoding/generation_config.h -- what a Hugging Face folder says of how its network
// writes: generation_config.json, and where that is not there config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/decoding/sampling.h"

namespace penstock {

struct GenerationConfig {
  std::string path;           // of the file that says it; empty: none does
  std::vector<int32_t> ends;  // tokens that end a text
  // What it says of sampling; "do_sample": false is a temperature of 0.
  std::optional<double> temperature, top_p, repetition_penalty;
  std::optional<int64_t> top_k;
};

// Throws Error(Data) naming file and key where a value is none that the key can have.
[[nodiscard]] GenerationConfig read_generation_config(const std::string& folder);

}  // namespace penstock

// tests/unit/records/hub/configs.h -- what the tests of config.json share: texts of it, and what is
// made of them.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/records/hub/folders.h"

namespace penstock {

inline ModelConfig model_of(const std::string& text) {
  return parse_hub_config(text, "config.json").model;
}
inline std::string refused(const std::string& text) {
  return refusal(ErrorKind::Input, [&] { (void)parse_hub_config(text, "config.json"); });
}

// The config.json of Llama without scaled positions, as another family has it, and with `more`
// members.
inline std::string of_family(const std::string& family, const std::string& more) {
  nlohmann::json document = nlohmann::json::parse(kLlamaConfig);
  document["model_type"] = family;
  document["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 10000.0}};
  document.update(nlohmann::json::parse(more));
  return document.dump();
}

inline ModelConfig scratch_model() {
  ModelConfig model;
  model.kind = "decoder";
  model.width = 16;
  model.heads = 4;
  model.vocabulary = 21;
  model.activation = "silu";
  return model;
}

}  // namespace penstock

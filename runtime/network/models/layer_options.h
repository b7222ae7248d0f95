// runtime/network/models/layer_options.h -- LayerOptions: reads the options of one [[model.layers]]
// entry of a run file, each checked for its type, and refuses options that the kind of layer does
// not have.
//
// Whoever makes the layer first asks for each option that the kind has, then calls finish().
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/network/models/config.h"

namespace penstock {

// A getter returns the option of that key, or `otherwise` where the entry does not give it. It
// throws Error(Input) where the option has another type or is out of range. Messages name the kind
// of layer; the caller adds the place of the entry in the run file.
class LayerOptions {
 public:
  explicit LayerOptions(const LayerConfig& config) : config_(config) {}

  // An integer >= `minimum`; throws where the entry does not give it.
  [[nodiscard]] int64_t integer(const std::string& key, int64_t minimum);
  [[nodiscard]] int64_t integer(const std::string& key, int64_t minimum, int64_t otherwise);
  [[nodiscard]] double number(const std::string& key, double otherwise);
  [[nodiscard]] bool flag(const std::string& key, bool otherwise);
  [[nodiscard]] std::string text(const std::string& key, const std::string& otherwise);
  // One integer for both axes, or two: height and width.
  [[nodiscard]] std::vector<int64_t> pair(const std::string& key, int64_t otherwise);
  [[nodiscard]] bool has(const std::string& key) const { return config_.options.contains(key); }
  // Throws Error(Input) if the entry has an option that no getter was called for, listing those
  // that the getters were called for.
  void finish() const;
  // Throws Error(Input) "model layer '<kind>': <what>".
  [[noreturn]] void fail(const std::string& what) const;

 private:
  [[nodiscard]] const LayerConfig::Value* find(const std::string& key);
  const LayerConfig& config_;
  std::set<std::string> known_;
};

}  // namespace penstock

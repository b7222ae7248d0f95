// runtime/network/models/layer_options.h -- reads the options of one [[model.layers]] entry, typed
// and checked.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/network/models/config.h"

namespace penstock {

// A getter returns the option of that key, or `otherwise` where the entry does not give it. All
// functions throw Error(Input) naming the layer's kind; the caller adds where the entry stands in
// the run file.
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
  // Throws for a key that no getter asked for, listing those asked for.
  void finish() const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  [[nodiscard]] const LayerConfig::Value* find(const std::string& key);
  const LayerConfig& config_;
  std::set<std::string> known_;
};

}  // namespace penstock

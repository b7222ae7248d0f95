#include "runtime/network/models/layer_options.h"

#include "kernels/error.h"
#include "kernels/joined.h"

namespace penstock {

void LayerOptions::fail(const std::string& what) const {
  fail_input("model layer '" + config_.kind + "': " + what);
}

const LayerConfig::Value* LayerOptions::find(const std::string& key) {
  known_.insert(key);
  const auto found = config_.options.find(key);
  return found == config_.options.end() ? nullptr : &found->second;
}

int64_t LayerOptions::integer(const std::string& key, int64_t minimum) {
  if (find(key) == nullptr) fail("needs the option '" + key + "'");
  return integer(key, minimum, minimum);
}

int64_t LayerOptions::integer(const std::string& key, int64_t minimum, int64_t otherwise) {
  const auto* value = find(key);
  if (value == nullptr) return otherwise;
  const auto* number = std::get_if<int64_t>(value);
  if (number == nullptr || *number < minimum) {
    fail("option '" + key + "' must be an integer of at least " + std::to_string(minimum));
  }
  return *number;
}

double LayerOptions::number(const std::string& key, double otherwise) {
  const auto* value = find(key);
  if (value == nullptr) return otherwise;
  if (const auto* real = std::get_if<double>(value)) return *real;
  if (const auto* whole = std::get_if<int64_t>(value)) return static_cast<double>(*whole);
  fail("option '" + key + "' must be a number");
}

bool LayerOptions::flag(const std::string& key, bool otherwise) {
  const auto* value = find(key);
  if (value == nullptr) return otherwise;
  if (const auto* truth = std::get_if<bool>(value)) return *truth;
  fail("option '" + key + "' must be true or false");
}

std::string LayerOptions::text(const std::string& key, const std::string& otherwise) {
  const auto* value = find(key);
  if (value == nullptr) return otherwise;
  if (const auto* word = std::get_if<std::string>(value)) return *word;
  fail("option '" + key + "' must be a string");
}

std::vector<int64_t> LayerOptions::pair(const std::string& key, int64_t otherwise) {
  const auto* value = find(key);
  if (value == nullptr) return {otherwise, otherwise};
  if (const auto* both = std::get_if<int64_t>(value)) return {*both, *both};
  const auto* list = std::get_if<std::vector<int64_t>>(value);
  if (list == nullptr || list->size() != 2) {
    fail("option '" + key + "' must be an integer or [height, width]");
  }
  return *list;
}

void LayerOptions::finish() const {
  for (const auto& [key, value] : config_.options) {
    if (known_.contains(key)) continue;
    fail("does not know the option '" + key + "'" +
         (known_.empty() ? "; it has none" : "; it knows " + joined(known_, ", ")));
  }
}

}  // namespace penstock

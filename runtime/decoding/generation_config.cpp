#include "runtime/decoding/generation_config.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "runtime/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& path, const std::string& key, const std::string& want) {
  fail_data(path + ": " + quoted(key) + " must be " + want + ": correct or remove it");
}

// The value of a key; null where it is not there, or is null.
const json* value_of(const json& document, const char* key) {
  const auto found = document.find(key);
  return found == document.end() || found->is_null() ? nullptr : &*found;
}

int32_t token_of(const json& value, const std::string& path) {
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
  if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() > kLargest) {
    refuse(path, "eos_token_id", "the id of a token or a list of such");
  }
  return value.get<int32_t>();
}

std::vector<int32_t> ends_of(const json& document, const std::string& path) {
  std::vector<int32_t> ends;
  const json* value = value_of(document, "eos_token_id");
  if (value == nullptr) return ends;
  if (!value->is_array()) return {token_of(*value, path)};
  for (const json& one : *value) ends.push_back(token_of(one, path));
  return ends;
}

std::optional<double> number_of(const json& document, const char* key, const std::string& path,
                                double above, double most, const std::string& want) {
  const json* value = value_of(document, key);
  if (value == nullptr) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number > above && number <= most)) refuse(path, key, want);
  return number;
}

}  // namespace

GenerationConfig read_generation_config(const std::string& folder) {
  constexpr int64_t kMostBytes = 1 << 20;
  constexpr double kLargest = 1e9;
  GenerationConfig found;
  for (const char* name : {"generation_config.json", "config.json"}) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    const json document = read_json_file(path, kMostBytes, FileOwner::User);
    found.path = path;
    found.ends = ends_of(document, path);
    if (std::string_view(name) == "config.json") return found;
    const auto number = [&](const char* key, double above, double most, const std::string& want) {
      return number_of(document, key, path, above, most, want);
    };
    found.temperature = number("temperature", -1e-300, kLargest, "0 or above");
    found.top_p = number("top_p", 0, 1, "above 0 and at most 1");
    found.repetition_penalty = number("repetition_penalty", 0, kLargest, "above 0");
    if (const auto top_k = number("top_k", -1, kLargest, "0 or above")) {
      found.top_k = static_cast<int64_t>(*top_k);
    }
    const json* samples = value_of(document, "do_sample");
    if (samples != nullptr && samples->is_boolean() && !samples->get<bool>()) {
      found.temperature = 0.0;
    }
    return found;
  }
  return found;
}

}  // namespace penstock

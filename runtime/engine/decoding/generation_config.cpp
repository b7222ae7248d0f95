#include "runtime/engine/decoding/generation_config.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr double kLargest = 1e9;

// This is a key of transformers' GenerationConfig (5.24) that would change what a decoder writes,
// but is not followed here. It changes nothing if its value is `neutral`, null or an empty list.
// "num_beams" stands for all keys of beam search: without it the other keys change nothing.
struct Ignored {
  const char* key;
  json neutral = nullptr;
};
const std::vector<Ignored>& ignored_keys() {
  static const std::vector<Ignored> keys = {{"num_beams", 1},
                                            {"num_beam_groups", 1},
                                            {"num_return_sequences", 1},
                                            {"no_repeat_ngram_size", 0},
                                            {"typical_p", 1.0},
                                            {"top_h"},
                                            {"epsilon_cutoff", 0.0},
                                            {"eta_cutoff", 0.0},
                                            {"penalty_alpha", 0.0},
                                            {"dola_layers"},
                                            {"guidance_scale", 1.0},
                                            {"encoder_repetition_penalty", 1.0},
                                            {"encoder_no_repeat_ngram_size", 0},
                                            {"exponential_decay_length_penalty"},
                                            {"min_length", 0},
                                            {"min_new_tokens", 0},
                                            {"max_time"},
                                            {"suppress_tokens"},
                                            {"begin_suppress_tokens"},
                                            {"bad_words_ids"},
                                            {"sequence_bias"},
                                            {"forced_bos_token_id"},
                                            {"forced_eos_token_id"},
                                            {"force_words_ids"},
                                            {"constraints"},
                                            {"remove_invalid_values", false},
                                            {"token_healing", false},
                                            {"watermarking_config"}};
  return keys;
}

// Reads one generation_config.json, key by key. Refuses values that a key cannot have.
class File {
 public:
  File(const json& document, const std::string& path) : document_(document), path_(path) {}

  // Returns the value of `key`, or a null pointer if the key is missing or its value is null.
  [[nodiscard]] const json* value_of(const char* key) const {
    const auto found = document_.find(key);
    return found == document_.end() || found->is_null() ? nullptr : &*found;
  }
  [[nodiscard]] std::optional<double> number_of(const char* key, double above, double most,
                                                const char* wanted) const {
    const json* value = value_of(key);
    if (value == nullptr) return std::nullopt;
    const double number = value->is_number() ? value->get<double>() : std::nan("");
    if (!(number > above && number <= most)) refuse(key, wanted);
    return number;
  }
  [[nodiscard]] std::optional<int64_t> count_of(const char* key, int64_t least) const {
    const json* value = value_of(key);
    if (value == nullptr) return std::nullopt;
    const bool whole = value->is_number_integer() && value->get<double>() <= kLargest;
    if (!whole || value->get<int64_t>() < least) {
      refuse(key, least == 0 ? "a whole number, 0 or above" : "a whole number above 0");
    }
    return value->get<int64_t>();
  }
  [[nodiscard]] std::vector<int32_t> ends() const {
    std::vector<int32_t> ends;
    const json* value = value_of("eos_token_id");
    if (value == nullptr) return ends;
    if (!value->is_array()) return {end_of(*value)};
    for (const json& one : *value) ends.push_back(end_of(one));
    return ends;
  }
  [[nodiscard]] std::vector<std::string> stops() const {
    std::vector<std::string> stops;
    const json* value = value_of("stop_strings");
    if (value == nullptr) return stops;
    for (const json& one : value->is_array() ? *value : json::array({*value})) {
      if (!one.is_string() || one.get_ref<const std::string&>().empty()) {
        refuse("stop_strings", "a text that is not empty or a list of such");
      }
      stops.push_back(one.get<std::string>());
    }
    return stops;
  }
  // Returns whether the most probable word is always taken.
  [[nodiscard]] bool is_greedy() const {
    const json* value = value_of("do_sample");
    if (value == nullptr) return false;
    if (!value->is_boolean()) refuse("do_sample", "true or false");
    return !value->get<bool>();
  }
  [[nodiscard]] std::vector<std::string> ignored() const {
    std::vector<std::string> found;
    for (const Ignored& one : ignored_keys()) {
      const json* value = value_of(one.key);
      if (value == nullptr || *value == one.neutral) continue;
      if (value->is_structured() && value->empty()) continue;
      found.push_back(std::string(one.key) + ' ' + text_of(*value));
    }
    return found;
  }

 private:
  [[noreturn]] void refuse(const char* key, const char* wanted) const {
    fail_data(path_ + ": " + quoted(key) + " must be " + wanted + ": correct or remove it");
  }
  [[nodiscard]] int32_t end_of(const json& value) const {
    constexpr int64_t kLargestId = std::numeric_limits<int32_t>::max();
    if (!value.is_number_integer() || value.get<int64_t>() < 0 ||
        value.get<int64_t>() > kLargestId) {
      refuse("eos_token_id", "the id of a token or a list of such");
    }
    return value.get<int32_t>();
  }
  // Returns the value as text, cut off after 40 characters: people read it in one line, and a list
  // may have thousands of ids.
  static std::string text_of(const json& value) {
    constexpr size_t kMost = 40;
    const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
    return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
  }

  const json& document_;
  const std::string& path_;
};

// Reads how words are chosen into `found`. Its path and its ends are not read here.
void read_choice(const File& file, GenerationConfig& found) {
  found.temperature = file.number_of("temperature", -1e-300, kLargest, "0 or above");
  found.top_p = file.number_of("top_p", 0, 1, "above 0 and at most 1");
  found.min_p = file.number_of("min_p", -1e-300, 1, "0 to 1");
  found.repetition_penalty = file.number_of("repetition_penalty", 0, kLargest, "above 0");
  found.top_k = file.count_of("top_k", 0);
  if (file.is_greedy()) found.temperature = 0.0;
  found.stops = file.stops();
  found.tokens = file.count_of("max_new_tokens", 1);
  const std::optional<int64_t> longest = file.count_of("max_length", 0);
  if (!found.tokens) found.longest = longest;
  found.ignored = file.ignored();
}

}  // namespace

GenerationConfig read_generation_config(const std::string& folder) {
  constexpr int64_t kMostBytes = 1 << 20;
  GenerationConfig found;
  for (const char* name : {"generation_config.json", "config.json"}) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    const json document = read_json_file(path, kMostBytes, FileOwner::User);
    const File file(document, path);
    found.path = path;
    found.ends = file.ends();
    if (std::string_view(name) == "generation_config.json") read_choice(file, found);
    return found;
  }
  return found;
}

}  // namespace penstock

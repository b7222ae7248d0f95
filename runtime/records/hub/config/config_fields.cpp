#include "runtime/records/hub/config/config_fields.h"

#include <cmath>

#include "kernels/error.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

// Returns a value from an untrusted file as one line of limited length.
std::string shortened(const json& value) {
  constexpr size_t kLongest = 60;
  const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() > kLongest ? text.substr(0, kLongest) + "..." : text;
}

}  // namespace

bool asks_for_nothing(const json& value) {
  const bool no_text = value.is_string() && value.get_ref<const std::string&>().empty();
  return value == false || no_text || (value.is_structured() && value.empty());
}

bool leaves_all_as_it_is(const json& value) {
  if (value.is_number_float()) return value == 0.0 || value == 1.0;
  return asks_for_nothing(value) || (value.is_number() && value == 0);
}

void ConfigFields::refuse(const std::string& key, const std::string& why) const {
  fail_input(where_ + ": " + quoted(key) + " " + why);
}

const json* ConfigFields::find(const char* key) const {
  const auto found = document_.find(key);
  return found == document_.end() || found->is_null() ? nullptr : &*found;
}

bool ConfigFields::is_null(const char* key) const {
  const auto found = document_.find(key);
  return found != document_.end() && found->is_null();
}

const json* ConfigFields::take(const char* key, bool required) {
  known_.insert(key);
  const json* value = find(key);
  if (value == nullptr && required) refuse(key, "is missing");
  return value;
}

const json* ConfigFields::any(const char* key) {
  return take(key, false);
}

int64_t ConfigFields::whole(const char* key, std::optional<int64_t> otherwise) {
  constexpr int64_t kMost = 1'000'000'000;
  const json* value = take(key, !otherwise);
  if (value == nullptr) return *otherwise;
  if (!value->is_number_unsigned() || value->get<uint64_t>() < 1 ||
      value->get<uint64_t>() > static_cast<uint64_t>(kMost)) {
    refuse(key, "must be a whole number from 1 to 10^9, not " + shortened(*value));
  }
  return value->get<int64_t>();
}

double ConfigFields::number(const char* key, std::optional<double> otherwise) {
  const json* value = take(key, !otherwise);
  if (value == nullptr) return *otherwise;
  if (!value->is_number() || !std::isfinite(value->get<double>()) || value->get<double>() <= 0.0) {
    refuse(key, "must be a number above 0, not " + shortened(*value));
  }
  return value->get<double>();
}

bool ConfigFields::flag(const char* key, std::optional<bool> otherwise) {
  const json* value = take(key, !otherwise);
  if (value == nullptr) return *otherwise;
  if (!value->is_boolean()) refuse(key, "must be true or false, not " + shortened(*value));
  return value->get<bool>();
}

std::string ConfigFields::text(const char* key, std::optional<std::string> otherwise) {
  const json* value = take(key, !otherwise);
  if (value == nullptr) return *otherwise;
  if (!value->is_string()) refuse(key, "must be a text, not " + shortened(*value));
  return value->get<std::string>();
}

void ConfigFields::must_be(const char* key, const json& value) {
  const json* given = take(key, false);
  if (given == nullptr || *given == value) return;
  refuse(key, "is " + shortened(*given) + ", which is another network than the one we build with " +
                  shortened(value) + ": this model is not supported");
}

void ConfigFields::ignore(std::span<const char* const> keys) {
  for (const char* key : keys) known_.insert(key);
}

void ConfigFields::refuse_rest(bool (*neutral)(const json&)) const {
  for (const auto& [key, value] : document_.items()) {
    if (value.is_null() || key.starts_with("_") || known_.contains(key) || neutral(value)) continue;
    refuse(key, "is " + shortened(value) +
                    ", which says something of the network that we do not have: this model is not "
                    "supported");
  }
}

}  // namespace penstock

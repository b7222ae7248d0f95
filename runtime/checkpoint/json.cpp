#include "runtime/checkpoint/json.h"

#include <set>
#include <vector>

#include "kernels/error.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr int kMaximumDepth = 8;

class Guard {
 public:
  explicit Guard(const std::string& where) : where_(where) {}

  // nlohmann's callback; `value` is the key when a key was read.
  bool operator()(int depth, json::parse_event_t event, const json& value) {
    if (depth > kMaximumDepth) fail_input(where_ + ": JSON nested too deeply");
    if (event == json::parse_event_t::object_start) keys_.emplace_back();
    if (event == json::parse_event_t::object_end) keys_.pop_back();
    if (event == json::parse_event_t::key && !keys_.back().insert(value).second) {
      fail_input(where_ + ": the key " + value.dump() + " is there twice");
    }
    return true;
  }

 private:
  const std::string& where_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

const json& member(const json& parent, const char* key, const std::string& where) {
  const auto found = parent.find(key);
  if (found == parent.end()) fail_input(where + ": \"" + key + "\" is missing");
  return *found;
}

}  // namespace

std::string quoted(const std::string& name) {
  return json(name).dump(-1, ' ', false, json::error_handler_t::replace);
}

json parse_json(std::string_view text, const std::string& where) {
  Guard guard(where);
  json document;
  try {
    document = json::parse(text, std::ref(guard));
  } catch (const json::exception& error) {
    fail_input(where + ": bad JSON: " + error.what());
  }
  if (!document.is_object()) fail_input(where + ": not a JSON object");
  return document;
}

const json& json_object(const json& parent, const char* key, const std::string& where) {
  const json& value = member(parent, key, where);
  if (!value.is_object()) fail_input(where + ": \"" + key + "\" is not an object");
  return value;
}

std::string json_text(const json& parent, const char* key, const std::string& where) {
  const json& value = member(parent, key, where);
  if (!value.is_string()) fail_input(where + ": \"" + key + "\" is not a text");
  return value.get<std::string>();
}

uint64_t json_count(const json& parent, const char* key, const std::string& where) {
  const json& value = member(parent, key, where);
  if (!value.is_number_unsigned()) {
    fail_input(where + ": \"" + key + "\" is not a whole number, 0 or more");
  }
  return value.get<uint64_t>();
}

}  // namespace penstock

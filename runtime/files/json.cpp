#include "runtime/files/json.h"

#include <set>
#include <vector>

#include "kernels/error.h"
#include "runtime/files/counting_iterator.h"
#include "runtime/files/input_file.h"
#include "runtime/files/json_events.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr int kMaximumDepth = 8;

class Guard {
 public:
  // `byte`: how far the text has been read.
  Guard(const std::string& where, const uint64_t& byte, int64_t most_values)
      : where_(where), byte_(byte), most_values_(most_values) {}

  // nlohmann's callback; `value` is the key when a key was read.
  bool operator()(int depth, json::parse_event_t event, const json& value) {
    if (depth > kMaximumDepth) fail("JSON nested too deeply");
    if (++values_ > most_values_) fail("more values than such a file may have");
    if (event == json::parse_event_t::object_start) keys_.emplace_back();
    if (event == json::parse_event_t::object_end) keys_.pop_back();
    if (event == json::parse_event_t::key && !keys_.back().insert(value).second) {
      fail("the key " + quoted(value.get<std::string>()) + " is there twice");
    }
    return true;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { fail_at(where_, byte_, what); }

  const std::string& where_;
  const uint64_t& byte_;
  int64_t most_values_;
  int64_t values_ = 0;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

const json& member(const json& parent, const char* key, const std::string& where) {
  const auto found = parent.find(key);
  if (found == parent.end()) fail_data(where + ": \"" + key + "\" is missing");
  return *found;
}

}  // namespace

std::string quoted(const std::string& name) {
  constexpr size_t kLongest = 200;
  const std::string shown = name.size() > kLongest ? name.substr(0, kLongest) + "..." : name;
  return json(shown).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string json_complaint(const json::exception& error) {
  constexpr size_t kLongest = 400;
  constexpr size_t kOfEnd = 100;
  std::string text = error.what();  // "[json.exception.parse_error.101] parse error at line 1 ..."
  if (const size_t prefix = text.find("] "); prefix != std::string::npos) text.erase(0, prefix + 2);
  if (text.size() <= kLongest) return text;
  const auto inside_character = [&](size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xc0U) == 0x80U;
  };
  size_t first = kLongest - kOfEnd;
  size_t last = text.size() - kOfEnd;
  while (inside_character(first)) --first;
  while (last < text.size() && inside_character(last)) ++last;
  return text.substr(0, first) + " ... " + text.substr(last);
}

json parse_json(std::string_view text, const std::string& where, int64_t most_values) {
  uint64_t byte = 0;
  Guard guard(where, byte, most_values);
  json document;
  try {
    document = json::parse(CountingIterator(text.data(), &byte),
                           CountingIterator(text.data() + text.size(), &byte), std::ref(guard));
  } catch (const json::parse_error& error) {
    fail_at(where, error.byte, "bad JSON: " + json_complaint(error));
  } catch (const json::exception& error) {
    fail_at(where, byte, "bad JSON: " + json_complaint(error));
  }
  if (!document.is_object()) fail_data(where + ": not a JSON object");
  return document;
}

json read_json_file(const std::string& path, int64_t most_bytes, FileOwner owner) {
  return parse_json(read_text(path, most_bytes, owner), path);
}

const json& json_object(const json& parent, const char* key, const std::string& where) {
  const json& value = member(parent, key, where);
  if (!value.is_object()) fail_data(where + ": \"" + key + "\" is not an object");
  return value;
}

std::string json_text(const json& parent, const char* key, const std::string& where) {
  const json& value = member(parent, key, where);
  if (!value.is_string()) fail_data(where + ": \"" + key + "\" is not a text");
  return value.get<std::string>();
}

uint64_t json_count(const json& parent, const char* key, const std::string& where) {
  const json& value = member(parent, key, where);
  if (!value.is_number_unsigned()) {
    fail_data(where + ": \"" + key + "\" is not a whole number, 0 or more");
  }
  return value.get<uint64_t>();
}

}  // namespace penstock

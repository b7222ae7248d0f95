#include "runtime/system/files/json.h"

#include "kernels/error.h"
#include "runtime/system/files/input_file.h"

namespace penstock {
namespace {

using nlohmann::json;

// Counts the values of a document, and refuses the first one beyond the limit.
class Limit final : public JsonReader {
 public:
  Limit(const std::string& where, int64_t most_values) : where_(where), left_(most_values) {}
  void text(const JsonPlace& place, const std::string& /*value*/) override { count_one(place); }
  void count(const JsonPlace& place, uint64_t /*value*/) override { count_one(place); }
  void other(const JsonPlace& place) override { count_one(place); }
  void open(const JsonPlace& place, bool /*is_list*/) override { count_one(place); }
  void close(const JsonPlace& /*place*/) override {}

 private:
  void count_one(const JsonPlace& place) {
    if (--left_ < 0) fail_at(where_, place.byte, "more values than such a file may have");
  }

  const std::string& where_;
  int64_t left_;
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

std::string packed_json(const nlohmann::json& document) {
  return with_texts(document, unicode_of).dump();
}

nlohmann::json unpacked_json(const std::string& text) {
  return with_texts(nlohmann::json::parse(text), bytes_of);
}

std::string json_complaint(const json::exception& error) {
  constexpr size_t kLongest = 400;
  constexpr size_t kOfEnd = 100;
  std::string text = error.what();  // such as "[json.exception.parse_error.101] parse error ..."
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

// Checks the limits in a pass of its own, then parses. If a callback of the parser checked them,
// the parser would look through all neighbours of each object, which takes long.
json parse_json(std::string_view text, const std::string& where, int64_t most_values,
                size_t most_levels) {
  Limit limit(where, most_values);
  read_json(text, where, limit, most_levels);
  return json::parse(text);
}

std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
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

// nlohmann-json does the reading, through its SAX interface.
#include "runtime/system/files/json_events.h"

#include <nlohmann/json.hpp>
#include <set>

#include "kernels/error.h"
#include "runtime/system/files/counting_iterator.h"
#include "runtime/system/files/json.h"
#include "runtime/system/files/stand_in.h"

namespace penstock {
namespace {

using nlohmann::json;

// Hands nlohmann's events on to a JsonReader, each with its place. The functions are those that
// nlohmann's SAX interface wants, one for each kind of value.
class EventHandler {
 public:
  // The reader is told `place` as the place of a value. The caller counts the bytes in it.
  EventHandler(const std::string& where, JsonPlace& place, JsonReader& reader, size_t most_levels)
      : where_(where), place_(place), reader_(reader), most_levels_(most_levels) {}

  bool null() { return other(); }
  bool boolean(bool /*value*/) { return other(); }
  bool number_integer(int64_t /*value*/) { return other(); }
  bool number_float(double /*value*/, const std::string& /*text*/) { return other(); }
  bool binary(std::vector<uint8_t>& /*value*/) { return other(); }
  bool number_unsigned(uint64_t value) {
    expect_object();
    reader_.count(place_, value);
    return true;
  }
  bool string(const std::string& value) {
    expect_object();
    reader_.text(place_, value);
    return true;
  }
  bool start_object(size_t /*elements*/) {
    if (!levels_.empty()) reader_.open(place_, false);
    enter(false);
    return true;
  }
  bool key(const std::string& name) {
    Level& level = levels_.back();
    if (!level.keys.insert(name).second) {
      fail_at(where_, place_.byte, "the key " + quoted(name) + " is there twice");
    }
    if (level.has_key) place_.keys.pop_back();
    level.has_key = true;
    place_.keys.push_back(name);
    return true;
  }
  bool end_object() {
    if (levels_.back().has_key) place_.keys.pop_back();
    return leave();
  }
  bool start_array(size_t /*elements*/) {
    expect_object();
    reader_.open(place_, true);
    enter(true);
    ++place_.lists;
    return true;
  }
  bool end_array() {
    --place_.lists;
    return leave();
  }
  bool parse_error(size_t byte, const std::string& /*token*/, const json::exception& error) {
    fail_at(where_, byte, "bad JSON: " + json_complaint(error));
  }

 private:
  struct Level {
    bool is_list = false;
    bool has_key = false;        // place_.keys ends with a key of this object
    std::set<std::string> keys;  // keys seen so far
  };

  bool other() {
    expect_object();
    reader_.other(place_);
    return true;
  }
  void expect_object() const {
    if (levels_.empty()) fail_at(where_, place_.byte, "not a JSON object");
  }
  void enter(bool is_list) {
    if (levels_.size() == most_levels_) fail_at(where_, place_.byte, "JSON nested too deeply");
    levels_.push_back({is_list, false, {}});
  }
  bool leave() {
    levels_.pop_back();
    if (!levels_.empty()) reader_.close(place_);
    return true;
  }

  const std::string& where_;
  JsonPlace& place_;
  JsonReader& reader_;
  size_t most_levels_;
  std::vector<Level> levels_;
};

}  // namespace

void fail_at(const std::string& where, uint64_t byte, const std::string& what) {
  fail_data(where + ", byte " + std::to_string(byte) + ": " + what);
}

void read_json(std::string_view text, const std::string& where, JsonReader& reader,
               size_t most_levels) {
  refuse_stand_in(text.substr(0, kStandInBytes), where);
  refuse_wide_text(text, where);
  JsonPlace place;
  EventHandler handler(where, place, reader, most_levels);
  const char* end = text.data() + text.size();
  (void)json::sax_parse(CountingIterator(text.data(), &place.byte),
                        CountingIterator(end, &place.byte), &handler);
}

}  // namespace penstock

// runtime/system/files/json_events.h -- reads a JSON document value by value, without building it:
// it takes memory only for what the reader keeps, however large the document and whatever is in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// The place of a value.
struct JsonPlace {
  std::vector<std::string> keys;  // of the objects that are open, outermost first
  int lists = 0;                  // that are open; elements of lists have the keys of their list
  uint64_t byte = 0;              // of the text: where the value ends, or the next one
};

// A reader of the values. It gets every value once, in the order of the text.
class JsonReader {
 public:
  virtual ~JsonReader() = default;
  virtual void text(const JsonPlace& place, const std::string& value) = 0;
  virtual void count(const JsonPlace& place, uint64_t value) = 0;  // whole, 0 or more
  virtual void other(const JsonPlace& place) = 0;                  // true, null, -1, 1.5
  // `place` is the place of the object or list itself.
  virtual void open(const JsonPlace& place, bool is_list) = 0;
  virtual void close(const JsonPlace& place) = 0;
};

// Tells `reader` every value of the text, which must be one object. Refuses bad JSON, a key that is
// there twice, and more than `most_levels` objects and lists within each other. Throws Error(Data)
// naming `where` and the byte.
inline constexpr size_t kMostJsonLevels = 8;
void read_json(std::string_view text, const std::string& where, JsonReader& reader,
               size_t most_levels = kMostJsonLevels);

// "FILE, byte 12: what is wrong", thrown as Error(Data).
[[noreturn]] void fail_at(const std::string& where, uint64_t byte, const std::string& what);

}  // namespace penstock

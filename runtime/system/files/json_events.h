// runtime/system/files/json_events.h -- reads a JSON document value by value without building it in
// memory (like SAX for XML): the caller derives a JsonReader, which is told each value and keeps
// what it needs. For documents that may be large, from files that anybody may have written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// The place of a value in the document: in {"a": {"b": [1, 2]}} the value 2 has the keys {"a", "b"}
// and one open list.
struct JsonPlace {
  // Of the open objects, outermost first; an element of a list has the keys of the list.
  std::vector<std::string> keys;
  int lists = 0;  // how many lists are open
  // A position in the text, for messages: at the end of the value or of the next one.
  uint64_t byte = 0;
};

// Derived by the caller. It is told every value once, in the order of the text.
class JsonReader {
 public:
  virtual ~JsonReader() = default;
  virtual void text(const JsonPlace& place, const std::string& value) = 0;
  virtual void count(const JsonPlace& place, uint64_t value) = 0;  // whole, 0 or more
  virtual void other(const JsonPlace& place) = 0;                  // true, null, -1, 1.5
  // An object or a list begins, and ends; `place` is the place of the object or list itself.
  virtual void open(const JsonPlace& place, bool is_list) = 0;
  virtual void close(const JsonPlace& place) = 0;
};

// How deep objects and lists may be nested, where the caller does not say.
inline constexpr size_t kMostJsonLevels = 8;
// Tells `reader` every value of `text`, which must be one JSON object. Refuses bad JSON, a key that
// is twice in an object, and objects and lists nested more than `most_levels` deep. Throws
// Error(Data) naming `where` (the file) and the byte.
void read_json(std::string_view text, const std::string& where, JsonReader& reader,
               size_t most_levels = kMostJsonLevels);

// Throws Error(Data): "FILE, byte 12: what is wrong", where `where` is the file.
[[noreturn]] void fail_at(const std::string& where, uint64_t byte, const std::string& what);

}  // namespace penstock

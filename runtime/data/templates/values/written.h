// runtime/data/templates/values/written.h -- writes values of a template as text: as Python's str()
// and repr() write them, as JSON, and escaped for HTML.
#pragma once

#include <optional>
#include <string>

#include "runtime/data/templates/writer.h"

namespace penstock::jinja {

// Append str(value) and repr(value) to the writer. Throw Error(Input) for functions, loops and
// generators, for which Python writes an address in memory.
void write_shown(Writer& writer, const Value& value);
void write_repr(Writer& writer, const Value& value);
// str(value) as a value; if `value` is a text it is returned as it is.
[[nodiscard]] Value str_of(Budget& budget, const Value& value);

// The options of Python's json.dumps().
struct JsonForm {
  bool ascii = false;   // ensure_ascii: other characters are escaped
  bool sorted = false;  // sort_keys
  // What each level is indented by; nullopt: all is in one line.
  std::optional<std::string> indent = {};
  // The separators between items and behind a key; nullopt: those of json.dumps().
  std::optional<std::string> between = {}, behind_key = {};
};
// Appends the value as JSON.
void write_json(Writer& writer, const Value& value, const JsonForm& form);

[[nodiscard]] std::string written_real(double number);  // repr(number)
// Appends `text` with & < > ' " escaped as in HTML.
void write_escaped(Writer& writer, std::string_view text);

}  // namespace penstock::jinja

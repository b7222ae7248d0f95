// runtime/data/templates/values/written.h -- values as text, as Python writes them.
#pragma once

#include <optional>
#include <string>

#include "runtime/data/templates/writer.h"

namespace penstock::jinja {

// Write str(value) and repr(value). Throw for functions, loops and generators: nobody would want
// what Python writes of them.
void write_shown(Writer& writer, const Value& value);
void write_repr(Writer& writer, const Value& value);
// str(value) as a value; a text is returned as it is.
[[nodiscard]] Value str_of(Budget& budget, const Value& value);

// The options of json.dumps(): ensure_ascii, sort_keys, indent, separators.
struct JsonForm {
  bool ascii = false;
  bool sorted = false;
  std::optional<std::string> indent = {};                    // of one level; none: all in one line
  std::optional<std::string> between = {}, behind_key = {};  // separators
};
void write_json(Writer& writer, const Value& value, const JsonForm& form);

[[nodiscard]] std::string written_real(double number);  // repr(number)
// Writes `text` with & < > ' " escaped as in HTML.
void write_escaped(Writer& writer, std::string_view text);

}  // namespace penstock::jinja

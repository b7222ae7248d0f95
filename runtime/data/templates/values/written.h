// runtime/data/templates/values/written.h -- values as text, as Python writes them.
#pragma once

#include <optional>
#include <string>

#include "runtime/data/templates/writer.h"

namespace penstock::jinja {

// str(value) and repr(value). Throw where nobody would want what Python writes: of functions,
// loops, generators.
void write_shown(Writer& writer, const Value& value);
void write_repr(Writer& writer, const Value& value);
// The text of str(value), as a value: a text is itself.
[[nodiscard]] Value str_of(Budget& budget, const Value& value);

// How json.dumps() writes a value.
struct JsonForm {
  bool ascii = false;
  bool sorted = false;
  std::optional<std::string> indent = {};                    // of a level; none: all in one line
  std::optional<std::string> between = {}, behind_key = {};  // separators
};
void write_json(Writer& writer, const Value& value, const JsonForm& form);

[[nodiscard]] std::string written_real(double number);  // repr()
// `text` as HTML has it: & < > ' "
void write_escaped(Writer& writer, std::string_view text);

}  // namespace penstock::jinja

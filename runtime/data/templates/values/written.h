// runtime/data/templates/values/written.h -- writes values of a template as text: as Python's str()
// and repr() write them, as JSON, and escaped for HTML.
//
// A Writer (writer.h) is a text that grows; what it takes counts in the Budget (budget.h) of the
// template's run, which limits that run to 64 MiB of memory and a fixed amount of work. All
// functions here append, and throw Error(Input) when the budget is used up: "the chat template
// needs more than 64 MiB of memory", or "... computes for too long".
#pragma once

#include <optional>
#include <string>

#include "runtime/data/templates/writer.h"

namespace penstock::jinja {

// Append str(value) and repr(value) to the writer. Throw Error(Input) also for functions, loops,
// namespaces and generators, for which Python writes an address in memory, for ranges, and for an
// escaped text within a list or mapping.
void write_shown(Writer& writer, const Value& value);
void write_repr(Writer& writer, const Value& value);
// Returns str(value) as a value, whose memory counts in `budget`; if `value` is a text it is
// returned as it is.
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
// Appends the value as JSON. Throws Error(Input) also for what has no form in JSON: undefined,
// functions, loops, namespaces, ranges and what filters give once; and with form.sorted for a
// mapping whose keys are not all texts. Numbers that are not finite are NaN, Infinity and
// -Infinity, as Python's json.dumps writes them.
void write_json(Writer& writer, const Value& value, const JsonForm& form);

[[nodiscard]] std::string written_real(double number);  // repr(number)
// Appends `text` with & < > ' " escaped as in HTML.
void write_escaped(Writer& writer, std::string_view text);

}  // namespace penstock::jinja

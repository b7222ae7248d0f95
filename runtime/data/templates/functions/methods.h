// runtime/data/templates/functions/methods.h -- Python's methods of texts, lists and mappings, and
// what they share with filters.
#pragma once

#include <string>

#include "runtime/data/templates/functions/arguments.h"

namespace penstock::jinja {

// Whether Python's type of `of` has a method of this name, be it supported here or not.
[[nodiscard]] bool has_method(const Value& of, const std::string& name);

// of.name(with). Throws Error(Input) naming what is not supported. No method changes a value.
[[nodiscard]] Value call_method(Budget& budget, const Value& of, const std::string& name,
                                const Arguments& with);

// of.name(with) for a text `of`.
[[nodiscard]] Value call_text_method(Budget& budget, const Value& of, const std::string& name,
                                     const Arguments& with);

// The most work (Budget::work()) that looking for `what` everywhere in `text` takes.
[[nodiscard]] inline uint64_t search_work(std::string_view text, std::string_view what) {
  return text.size() * (4 + what.size() / 16);
}

// `text` without the characters of `which` (null: white space of Unicode) at its left end, its
// right end, or both.
[[nodiscard]] std::string_view stripped(std::string_view text, const std::string* which, bool left,
                                        bool right);
// The text with `from` replaced by `to`, at most `most` times; below 0: everywhere.
[[nodiscard]] Value replaced(Budget& budget, std::string_view text, std::string_view from,
                             std::string_view to, int64_t most);
// The lines of a text as str.splitlines() has them; `with_ends`: with the characters that end them.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text, bool with_ends = false);

}  // namespace penstock::jinja

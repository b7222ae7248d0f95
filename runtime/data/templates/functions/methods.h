// runtime/data/templates/functions/methods.h -- the methods of Python's texts, lists and mappings
// that templates may call, such as `text.strip()` and `mapping.items()`; and helpers that filters
// share.
//
// `budget` is that of the template's run (budget.h): memory of results and work count in it, and
// Error(Input) is thrown when it is used up.
#pragma once

#include <string>

#include "runtime/data/templates/functions/arguments.h"

namespace penstock::jinja {

// Whether Python's type of the value `of` has a method called `name`, whether or not it is
// supported here.
[[nodiscard]] bool has_method(const Value& of, const std::string& name);

// The value of `of.name(with)`. Methods never change `of`: those that would, such as append, are
// not supported. Throws Error(Input) naming what is not supported.
[[nodiscard]] Value call_method(Budget& budget, const Value& of, const std::string& name,
                                const Arguments& with);

// The part of call_method() for a text `of`.
[[nodiscard]] Value call_text_method(Budget& budget, const Value& of, const std::string& name,
                                     const Arguments& with);

// The most that searching all of `text` for `what` counts as in Budget::work().
[[nodiscard]] inline uint64_t search_work(std::string_view text, std::string_view what) {
  return text.size() * (4 + what.size() / 16);
}

// `text` without the characters in `which` (null: white space) at its left end, its right end, or
// both; a view of `text`.
[[nodiscard]] std::string_view stripped(std::string_view text, const std::string* which, bool left,
                                        bool right);
// `text` with `from` replaced by `to`, at most `most` times from the left; `most` < 0: everywhere.
[[nodiscard]] Value replaced(Budget& budget, std::string_view text, std::string_view from,
                             std::string_view to, int64_t most);
// The lines of a text, as Python's str.splitlines() cuts it; `with_ends`: with the characters that
// end them. They are views of `text`.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text, bool with_ends = false);

}  // namespace penstock::jinja

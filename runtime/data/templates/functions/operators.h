// runtime/data/templates/functions/operators.h -- what the literals and operators of a template's
// expressions compute, with Python's results: `a + b`, `a in b`, `of.name`, `of[1:3]`.
//
// `budget` is that of the template's run (budget.h): memory of results and work count in it, and
// Error(Input) is thrown when it is used up.
#pragma once

#include <optional>
#include <string>

#include "runtime/data/templates/values/value.h"

namespace penstock::jinja {

// All throw Error(Input) for what Python refuses, and for what is not supported.
[[nodiscard]] Value whole_literal(const std::string& digits);  // "12", "0x1f"
[[nodiscard]] Value real_literal(const std::string& digits);   // "1.5"
[[nodiscard]] Value negated(const Value& of);                  // -of

// of.name and of[key]; the value undefined if there is no such member. As in Jinja both find
// methods of texts, lists and mappings as well as keys of a mapping; if there are both, of.name is
// the method and of[key] is what the mapping has.
[[nodiscard]] Value member_of(Budget& budget, const Value& of, const std::string& name);
[[nodiscard]] Value item_of(Budget& budget, const Value& of, const Value& key);
// of.a.b[0] for the path "a.b.0", which filters such as map(attribute="a.b.0") take.
[[nodiscard]] Value attribute_of(Budget& budget, const Value& of, const Value& path);

// of[from:to:step] of a text or list; nullopt: left out.
struct Cut {
  std::optional<int64_t> from, to, step;
};
[[nodiscard]] Value cut_of(Budget& budget, const Value& of, const Cut& cut);

// left <how> right, where `how` is one of == != < > <= >= in and "not in".
[[nodiscard]] bool compared(Budget& budget, const std::string& how, const Value& left,
                            const Value& right);
// left <how> right, where `how` is one of + - * / // % and **.
[[nodiscard]] Value combined(Budget& budget, const std::string& how, const Value& left,
                             const Value& right);

}  // namespace penstock::jinja

// runtime/data/templates/functions/operators.h -- literals and operators of expressions, with
// Python's results.
#pragma once

#include <optional>
#include <string>

#include "runtime/data/templates/values/value.h"

namespace penstock::jinja {

// All throw Error(Input) where the template asks for what Python refuses, or what is not supported.
[[nodiscard]] Value whole_literal(const std::string& digits);  // "12", "0x1f"
[[nodiscard]] Value real_literal(const std::string& digits);
[[nodiscard]] Value negated(const Value& of);  // -of

// of.name and of[key]; undefined where there is no such member. Methods of texts, lists and
// mappings are found as well, as in Jinja: of.name prefers a method to a key, of[key] a key to a
// method.
[[nodiscard]] Value member_of(Budget& budget, const Value& of, const std::string& name);
[[nodiscard]] Value item_of(Budget& budget, const Value& of, const Value& key);
// of.a.b[0] for the path "a.b.0", as filters take attributes.
[[nodiscard]] Value attribute_of(Budget& budget, const Value& of, const Value& path);

// of[from:to:step] of a text or list; each may be left out.
struct Cut {
  std::optional<int64_t> from, to, step;
};
[[nodiscard]] Value cut_of(Budget& budget, const Value& of, const Cut& cut);

// left `how` right; `how` is == != < > <= >= in or "not in".
[[nodiscard]] bool compared(Budget& budget, const std::string& how, const Value& left,
                            const Value& right);
// left `how` right; `how` is + - * / // % or **.
[[nodiscard]] Value combined(Budget& budget, const std::string& how, const Value& left,
                             const Value& right);

}  // namespace penstock::jinja

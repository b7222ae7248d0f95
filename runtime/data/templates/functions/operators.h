// runtime/data/templates/functions/operators.h -- what the operators of expressions give.
#pragma once

#include <optional>
#include <string>

#include "runtime/data/templates/values/value.h"

namespace penstock::jinja {

// All throw Error(Input) where the template asks for what Python refuses, or what is not supported.
[[nodiscard]] Value whole_literal(const std::string& digits);  // "12", "0x1f"
[[nodiscard]] Value real_literal(const std::string& digits);
[[nodiscard]] Value negated(const Value& of);

// of.name and of[key]: undefined where there is none. Methods of texts, lists and mappings are
// found as well, as Jinja does it: by a dot before keys, in brackets behind them.
[[nodiscard]] Value member_of(Budget& budget, const Value& of, const std::string& name);
[[nodiscard]] Value item_of(Budget& budget, const Value& of, const Value& key);
// "a.b.0" one after the other, as filters take attributes.
[[nodiscard]] Value attribute_of(Budget& budget, const Value& of, const Value& path);

// of[from:to:step], of texts and lists.
struct Cut {
  std::optional<int64_t> from, to, step;
};
[[nodiscard]] Value cut_of(Budget& budget, const Value& of, const Cut& cut);

// == != < > <= >= in "not in"
[[nodiscard]] bool compared(Budget& budget, const std::string& how, const Value& left,
                            const Value& right);
// + - * / // % **
[[nodiscard]] Value combined(Budget& budget, const std::string& how, const Value& left,
                             const Value& right);

}  // namespace penstock::jinja

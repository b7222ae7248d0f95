// runtime/data/jinja/operators.h -- what the operators of expressions give.
#pragma once

#include <optional>
#include <string>

#include "runtime/data/jinja/value.h"

namespace penstock::jinja {

// All throw Error(Input) where the template asks for what is not supported.
[[noreturn]] void fail_template(const std::string& what);

[[nodiscard]] Value whole_literal(const std::string& digits);
[[nodiscard]] int64_t whole_number(const Value& value);
[[nodiscard]] Value member_or_item(const Value& of, const Value& key);  // of[key]
// of[from:to:step], as Python cuts lists.
[[nodiscard]] Value cut_list(const Value& of, std::optional<int64_t> from,
                             std::optional<int64_t> to, int64_t step);
// == != < > <= >= in "not in"
[[nodiscard]] bool compared(const std::string& how, const Value& left, const Value& right);
// + - * % ~
[[nodiscard]] Value combined(const std::string& how, const Value& left, const Value& right);

}  // namespace penstock::jinja

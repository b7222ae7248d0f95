// What stands behind `is`.
#include <algorithm>
#include <array>

#include "runtime/data/templates/functions/filters.h"
#include "runtime/data/templates/functions/methods.h"
#include "runtime/data/templates/functions/operators.h"
#include "runtime/data/templates/values/written.h"
#include "runtime/system/files/json.h"

namespace penstock::jinja {
namespace {

// Returns the operator that a test with one argument stands for, or an empty text if the test
// stands for no operator.
std::string operator_of(const std::string& test) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 17> kOperators = {
      {{"==", "=="},
       {"eq", "=="},
       {"equalto", "=="},
       {"!=", "!="},
       {"ne", "!="},
       {">", ">"},
       {"gt", ">"},
       {"greaterthan", ">"},
       {">=", ">="},
       {"ge", ">="},
       {"<", "<"},
       {"lt", "<"},
       {"lessthan", "<"},
       {"<=", "<="},
       {"le", "<="},
       {"in", "in"},
       {"", ""}}};
  for (const auto& [name, sign] : kOperators) {
    if (name == test) return std::string(sign);
  }
  return {};
}

std::optional<bool> is_kind(Budget& budget, const std::string& name, const Value& of) {
  if (name == "defined") return !of.undefined();
  if (name == "undefined") return of.undefined();
  if (name == "none") return of.none();
  if (name == "string") return of.text() != nullptr;
  if (name == "mapping") return of.table() != nullptr;
  if (name == "boolean") return of.boolean() != nullptr;
  if (name == "integer") return of.whole() != nullptr;
  if (name == "float") return of.real() != nullptr;
  if (name == "number") return is_number(of);
  if (name == "true") return of.boolean() != nullptr && *of.boolean();
  if (name == "false") return of.boolean() != nullptr && !*of.boolean();
  if (name == "escaped") return of.escaped();
  if (name == "callable") return of.callable() != nullptr || of.undefined();
  if (name == "odd" || name == "even") {
    const Value rest = combined(budget, "%", of, int64_t{2});
    return equal(budget, rest, int64_t{name == "odd" ? 1 : 0});
  }
  const bool items = of.text() != nullptr || of.table() != nullptr || of.undefined();
  if (name == "iterable") return items || of.row() != nullptr;
  if (name == "sequence") return items || (of.row() != nullptr && of.row()->indexed());
  if (name == "lower" || name == "upper") {
    const Value text = str_of(budget, of);
    return call_method(budget, text, "is" + name, {}).truth();
  }
  return std::nullopt;
}

}  // namespace

bool passes_test(Budget& budget, const std::string& name, const Value& of, const Arguments& with) {
  budget.work(Budget::kStep);
  const std::string called = "the test " + penstock::quoted(name);
  const std::string sign = operator_of(name);
  const bool one_argument = !sign.empty() || name == "divisibleby" || name == "sameas";
  if (one_argument) {
    if (with.values.size() != 1 || !with.named.empty())
      fail_template("calls " + called + " with other than one value");
    const Value& other = with.values[0];
    if (!sign.empty()) return compared(budget, sign, of, other);
    if (name == "sameas") return of.same(other);
    return equal(budget, combined(budget, "%", of, other), int64_t{0});
  }
  const std::optional<bool> passes = is_kind(budget, name, of);
  if (!passes) fail_template("uses " + called + ", which is not supported");
  if (!with.none()) fail_template("gives " + called + " an argument");
  return *passes;
}

}  // namespace penstock::jinja

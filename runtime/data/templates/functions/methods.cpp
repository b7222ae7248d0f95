#include "runtime/data/templates/functions/methods.h"

#include <algorithm>
#include <array>

#include "runtime/data/templates/writer.h"
#include "runtime/system/files/json.h"

namespace penstock::jinja {
namespace {

// These are all methods that texts, lists and mappings have in Python, in alphabetical order.
constexpr std::array<std::string_view, 47> kTextMethods = {
    "capitalize",   "casefold",    "center",    "count",      "encode",       "endswith",
    "expandtabs",   "find",        "format",    "format_map", "index",        "isalnum",
    "isalpha",      "isascii",     "isdecimal", "isdigit",    "isidentifier", "islower",
    "isnumeric",    "isprintable", "isspace",   "istitle",    "isupper",      "join",
    "ljust",        "lower",       "lstrip",    "maketrans",  "partition",    "removeprefix",
    "removesuffix", "replace",     "rfind",     "rindex",     "rjust",        "rpartition",
    "rsplit",       "rstrip",      "split",     "splitlines", "startswith",   "strip",
    "swapcase",     "title",       "translate", "upper",      "zfill"};
constexpr std::array<std::string_view, 11> kListMethods = {"append", "clear",   "copy",   "count",
                                                           "extend", "index",   "insert", "pop",
                                                           "remove", "reverse", "sort"};
constexpr std::array<std::string_view, 11> kTableMethods = {
    "clear", "copy",    "fromkeys",   "get",    "items", "keys",
    "pop",   "popitem", "setdefault", "update", "values"};

template <class Names>
bool is_one_of(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

Value table_method(Budget& budget, const Value& of, const std::string& name,
                   const Arguments& with) {
  const std::string called = "the method " + penstock::quoted(name);
  const Table& table = *of.table();
  if (name == "get") {
    const auto given = bound(with, {"key", "default"}, called);
    if (given[0] == nullptr) fail_template("calls " + called + " without a key");
    if (const Value* found = found_in(budget, table, *given[0])) return *found;
    return given[1] == nullptr ? Value(None()) : *given[1];
  }
  if (name != "items" && name != "keys" && name != "values" && name != "copy") {
    fail_template("calls " + called + " of a mapping, which is not supported");
  }
  (void)bound(with, {}, called);
  if (name == "copy") return of;
  Lister all(budget);
  for (const auto& [key, value] : table.pairs) {
    if (name == "items") {
      all.add(list_value(budget, {key, value}, Row::Type::Tuple));
    } else {
      all.add(name == "keys" ? key : value);
    }
  }
  return all.value(Row::Type::View);
}

Value list_method(Budget& budget, const Value& of, const std::string& name, const Arguments& with) {
  const std::string called = "the method " + penstock::quoted(name);
  if (name == "copy" && with.none()) return of;
  if (name != "count" && name != "index") {
    fail_template("calls " + called + " of a list, which is not supported");
  }
  const Value* const what = bound(with, {"value"}, called)[0];
  if (what == nullptr) fail_template("calls " + called + " without a value");
  int64_t times = 0;
  for (size_t i = 0; i < of.row()->items.size(); ++i) {
    if (!equal(budget, of.row()->items[i], *what)) continue;
    if (name == "index") return static_cast<int64_t>(i);
    ++times;
  }
  if (name == "index") fail_template("asks for the place of what a list has not");
  return times;
}

}  // namespace

bool has_method(const Value& of, const std::string& name) {
  if (of.text() != nullptr) return is_one_of(kTextMethods, name);
  if (of.table() != nullptr) return is_one_of(kTableMethods, name);
  if (of.row() == nullptr || !of.row()->indexed()) return false;
  return of.row()->type == Row::Type::List ? is_one_of(kListMethods, name)
                                           : name == "count" || name == "index";
}

Value call_method(Budget& budget, const Value& of, const std::string& name, const Arguments& with) {
  if (of.text() != nullptr) return call_text_method(budget, of, name, with);
  if (of.table() != nullptr) return table_method(budget, of, name, with);
  return list_method(budget, of, name, with);
}

}  // namespace penstock::jinja

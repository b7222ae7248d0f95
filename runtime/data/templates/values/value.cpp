#include "runtime/data/templates/values/value.h"

#include <algorithm>
#include <cmath>

#include "runtime/data/templates/writer.h"
#include "runtime/data/tokenizer/utf8.h"

namespace penstock::jinja {
namespace {

constexpr int kDeepestValue = 100;
constexpr size_t kObjectBytes = 64;  // bytes that an object takes besides its contents

int depth_of(const Value& value) {
  if (value.row() != nullptr) return value.row()->depth;
  if (value.table() != nullptr) return value.table()->depth;
  if (value.space() != nullptr || value.loop() != nullptr || value.callable() != nullptr) {
    fail_template("puts " + kind_of(value) + " into a list or a mapping, which is not supported");
  }
  return 0;
}

int checked_depth(int deepest) {
  if (deepest + 1 > kDeepestValue) fail_template("nests lists and mappings too deeply");
  return deepest + 1;
}

bool equal_rows(Budget& budget, const Row& a, const Row& b) {
  if (!a.indexed() || !b.indexed()) fail_template("compares what is gone through once");
  if (a.type == Row::Type::Group || b.type == Row::Type::Group) {
    fail_template("compares what groupby gives, which is not supported");
  }
  if (a.type != b.type) return false;
  return std::ranges::equal(a.items, b.items, [&](const Value& one, const Value& other) {
    return equal(budget, one, other);
  });
}

bool equal_tables(Budget& budget, const Table& a, const Table& b) {
  if (a.pairs.size() != b.pairs.size()) return false;
  return std::ranges::all_of(a.pairs, [&](const auto& pair) {
    const Value* const other = found_in(budget, b, pair.first);
    return other != nullptr && equal(budget, pair.second, *other);
  });
}

bool equal_numbers(const Value& a, const Value& b) {
  if (a.real() == nullptr && b.real() == nullptr) return whole_number(a) == whole_number(b);
  return real_number(a) == real_number(b);
}

}  // namespace

const std::string* Value::text() const {
  const auto* held = pointed<const Text>();
  return held == nullptr ? nullptr : &held->text;
}

bool Value::escaped() const {
  const auto* held = pointed<const Text>();
  return held != nullptr && held->escaped;
}

bool Value::truth() const {
  if (const bool* truth = boolean()) return *truth;
  if (const int64_t* number = whole()) return *number != 0;
  if (const double* number = real()) return *number != 0;
  if (const std::string* value = text()) return !value->empty();
  if (const Row* value = row()) return value->type == Row::Type::Once || !value->items.empty();
  if (const Table* value = table()) return !value->pairs.empty();
  return !undefined() && !none();
}

bool Value::same(const Value& other) const {
  if (none() || other.none()) return none() && other.none();
  if (boolean() != nullptr || other.boolean() != nullptr) {
    return boolean() != nullptr && other.boolean() != nullptr && *boolean() == *other.boolean();
  }
  fail_template("asks whether two values are the same one, which is not supported");
}

Value text_value(Budget& budget, std::string text, bool escaped) {
  if (text.capacity() > 2 * text.size() + kObjectBytes) text.shrink_to_fit();
  Charge charge(budget, kObjectBytes + sizeof(Text) + text.capacity());
  return std::make_shared<const Text>(Text{std::move(text), escaped, std::move(charge)});
}

Value list_value(Budget& budget, Values items, Row::Type type) {
  int deepest = 0;
  for (const Value& item : items) deepest = std::max(deepest, depth_of(item));
  Charge charge(budget, kObjectBytes + sizeof(Row) + items.capacity() * sizeof(Value));
  return std::make_shared<const Row>(
      Row{type, std::move(items), checked_depth(deepest), false, std::move(charge)});
}

Value table_value(Budget& budget, Entries pairs) {
  int deepest = 0;
  for (const auto& [key, value] : pairs) deepest = std::max(deepest, depth_of(value));
  Charge charge(budget, kObjectBytes + sizeof(Table) + pairs.capacity() * sizeof(pairs[0]));
  return std::make_shared<const Table>(
      Table{std::move(pairs), checked_depth(deepest), std::move(charge)});
}

bool equal(Budget& budget, const Value& a, const Value& b) {
  budget.work(Budget::kStep / 8);
  if (is_number(a) && is_number(b)) return equal_numbers(a, b);
  if (a.text() != nullptr && b.text() != nullptr) {
    budget.work(std::min(a.text()->size(), b.text()->size()));
    return *a.text() == *b.text();
  }
  if (a.row() != nullptr && b.row() != nullptr) return equal_rows(budget, *a.row(), *b.row());
  if (a.table() != nullptr && b.table() != nullptr) {
    return equal_tables(budget, *a.table(), *b.table());
  }
  if (a.space() != nullptr || a.loop() != nullptr || a.callable() != nullptr) {
    fail_template("compares " + kind_of(a) + ", which is not supported");
  }
  return (a.none() && b.none()) || (a.undefined() && b.undefined());
}

bool less(Budget& budget, const Value& a, const Value& b) {
  budget.work(Budget::kStep / 8);
  if (is_number(a) && is_number(b)) {
    if (a.real() == nullptr && b.real() == nullptr) return whole_number(a) < whole_number(b);
    return real_number(a) < real_number(b);
  }
  if (a.text() != nullptr && b.text() != nullptr) {
    budget.work(std::min(a.text()->size(), b.text()->size()));
    return *a.text() < *b.text();  // bytes of UTF-8 sort as their characters do
  }
  const bool rows = a.row() != nullptr && b.row() != nullptr && a.row()->type == b.row()->type &&
                    a.row()->type <= Row::Type::Tuple;
  if (!rows) {
    fail_template("asks which of " + kind_of(a) + " and " + kind_of(b) + " comes first");
  }
  for (size_t i = 0; i < a.row()->items.size() && i < b.row()->items.size(); ++i) {
    const Value& one = a.row()->items[i];
    const Value& other = b.row()->items[i];
    if (!equal(budget, one, other)) return less(budget, one, other);
  }
  return a.row()->items.size() < b.row()->items.size();
}

const Value* found_in(Budget& budget, const Table& table, const Value& key) {
  if (key.text() != nullptr) return found_in(budget, table, *key.text());
  if (key.row() != nullptr || key.table() != nullptr) {
    fail_template("takes " + kind_of(key) + " for a key, which is not supported");
  }
  for (const auto& [name, value] : table.pairs) {
    if (equal(budget, name, key)) return &value;
  }
  return nullptr;
}

const Value* found_in(Budget& budget, const Table& table, std::string_view key) {
  budget.work(table.pairs.size());
  for (const auto& [name, value] : table.pairs) {
    if (name.text() != nullptr && *name.text() == key) return &value;
  }
  return nullptr;
}

void put(Budget& budget, Entries& pairs, Value key, Value value) {
  const bool plain = key.text() != nullptr || is_number(key) || key.none();
  if (!plain) fail_template("takes " + kind_of(key) + " for a key, which is not supported");
  for (auto& [name, old] : pairs) {
    if (!equal(budget, name, key)) continue;
    old = std::move(value);
    return;
  }
  pairs.emplace_back(std::move(key), std::move(value));
}

Value items_of(Budget& budget, const Value& of) {
  if (const Row* row = of.row()) {
    if (row->type == Row::Type::Once && std::exchange(row->gone, true)) {
      fail_template("goes twice through what a filter gives once");
    }
    return of;
  }
  Lister items(budget);
  if (const Table* table = of.table()) {
    for (const auto& [key, value] : table->pairs) items.add(key);
  } else if (const std::string* text = of.text()) {
    for (size_t at = 0; at < text->size();) {
      const size_t bytes = utf8_at(*text, at).bytes;
      items.add(text_value(budget, text->substr(at, bytes), of.escaped()));
      at += bytes;
    }
  } else if (!of.undefined()) {
    fail_template("goes through " + kind_of(of) + ", which has no items");
  }
  return items.value();
}

int64_t characters_in(std::string_view text) {
  return std::ranges::count_if(text,
                               [](char c) { return (static_cast<uint8_t>(c) & 0xC0U) != 0x80U; });
}

std::string kind_of(const Value& value) {
  if (value.undefined()) return "what is not defined";
  if (value.none()) return "none";
  if (value.boolean() != nullptr) return "a truth";
  if (is_number(value)) return "a number";
  if (value.text() != nullptr) return "a text";
  if (value.table() != nullptr) return "a mapping";
  if (value.space() != nullptr) return "a namespace";
  if (value.loop() != nullptr) return "a loop";
  if (value.callable() != nullptr) return "a function";
  return value.row()->indexed() ? "a list" : "what is gone through once";
}

int64_t whole_number(const Value& value) {
  if (const int64_t* number = value.whole()) return *number;
  if (const bool* truth = value.boolean()) return *truth ? 1 : 0;
  fail_template("needs a whole number and has " + kind_of(value));
}

double real_number(const Value& value) {
  if (const double* number = value.real()) return *number;
  if (value.whole() == nullptr && value.boolean() == nullptr) {
    fail_template("needs a number and has " + kind_of(value));
  }
  return static_cast<double>(whole_number(value));
}

}  // namespace penstock::jinja

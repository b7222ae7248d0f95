// runtime/data/templates/values/value.h -- Value: a value of Python, as expressions of templates
// (Jinja) compute with it.
//
// Everything but a namespace and a loop stays as it was made, so values are shared and never
// copied. A list or mapping holds no namespace, loop or function, which keeps values free of
// cycles.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/data/templates/budget.h"

namespace penstock::jinja {

class Value;
struct Text;
struct Row;
struct Table;
struct Space;
struct Loop;
struct Callable;
using Values = std::vector<Value>;
using Entries = std::vector<std::pair<Value, Value>>;  // in the order of insertion

struct Undefined {};
struct None {};

class Value {
 public:
  Value() = default;            // undefined
  Value(const char*) = delete;  // else it would become a bool
  Value(None none) : data_(none) {}
  Value(bool truth) : data_(truth) {}
  Value(int64_t number) : data_(number) {}
  Value(double number) : data_(number) {}
  Value(std::shared_ptr<const Text> text) : data_(std::move(text)) {}
  Value(std::shared_ptr<const Row> row) : data_(std::move(row)) {}
  Value(std::shared_ptr<const Table> table) : data_(std::move(table)) {}
  Value(std::shared_ptr<Space> space) : data_(std::move(space)) {}
  Value(std::shared_ptr<Loop> loop) : data_(std::move(loop)) {}
  Value(std::shared_ptr<const Callable> callable) : data_(std::move(callable)) {}

  [[nodiscard]] bool undefined() const { return std::holds_alternative<Undefined>(data_); }
  [[nodiscard]] bool none() const { return std::holds_alternative<None>(data_); }
  // Null where the value is of another kind.
  [[nodiscard]] const bool* boolean() const { return std::get_if<bool>(&data_); }
  [[nodiscard]] const int64_t* whole() const { return std::get_if<int64_t>(&data_); }
  [[nodiscard]] const double* real() const { return std::get_if<double>(&data_); }
  [[nodiscard]] const std::string* text() const;
  [[nodiscard]] bool escaped() const;  // a text of Markup: what joins it is escaped as HTML is
  [[nodiscard]] const Row* row() const { return pointed<const Row>(); }
  [[nodiscard]] const Table* table() const { return pointed<const Table>(); }
  [[nodiscard]] Space* space() const { return pointed<Space>(); }
  [[nodiscard]] Loop* loop() const { return pointed<Loop>(); }
  [[nodiscard]] const Callable* callable() const { return pointed<const Callable>(); }

  [[nodiscard]] bool truth() const;  // Python's bool()
  // `is sameas`, of none, true and false; throws for others.
  [[nodiscard]] bool same(const Value& other) const;

 private:
  template <class T>
  [[nodiscard]] T* pointed() const {
    const auto* held = std::get_if<std::shared_ptr<T>>(&data_);
    return held == nullptr ? nullptr : held->get();
  }

  std::variant<Undefined, None, bool, int64_t, double, std::shared_ptr<const Text>,
               std::shared_ptr<const Row>, std::shared_ptr<const Table>, std::shared_ptr<Space>,
               std::shared_ptr<Loop>, std::shared_ptr<const Callable>>
      data_;
};

struct Text {
  std::string text;
  bool escaped = false;  // Markup
  Charge charge;
};

// A list or another sequence.
struct Row {
  // Group: a tuple that groupby gives, whose items are called "grouper" and "list". Range: what
  // range() gives. View: what keys(), values() and items() of a mapping give. Once: a generator, as
  // map gives it, which can be gone through once.
  enum class Type : uint8_t { List, Tuple, Group, Range, View, Once };
  Type type = Type::List;
  Values items;
  int depth = 1;              // levels of lists and mappings from this one down
  mutable bool gone = false;  // of Once: it was gone through
  Charge charge;
  [[nodiscard]] bool indexed() const { return type < Type::View; }  // has items by number
};

// A mapping.
struct Table {
  Entries pairs;
  int depth = 1;  // levels of lists and mappings from this one down
  Charge charge;
};

// A namespace: namespace(a=1).
struct Space {
  std::vector<std::pair<std::string, Value>> members;
};

struct Node;
struct Scope;

// A function ("range"), a method of `self`, or a macro.
struct Callable {
  std::string name;
  Value self = {};                   // of a method: the value whose method it is
  const Node* macro = nullptr;       // else a function or a method
  std::weak_ptr<Scope> around = {};  // of a macro: where it was defined
  [[nodiscard]] bool method() const { return macro == nullptr && !self.undefined(); }
};

[[nodiscard]] Value text_value(Budget& budget, std::string text, bool escaped = false);
// Both throw where a namespace, loop or function is put in, or values are nested too deeply.
[[nodiscard]] Value list_value(Budget& budget, Values items, Row::Type type = Row::Type::List);
[[nodiscard]] Value table_value(Budget& budget, Entries pairs);

// a == b and a < b of Python; numbers and booleans are compared as numbers. Both throw for what
// cannot be compared.
[[nodiscard]] bool equal(Budget& budget, const Value& a, const Value& b);
[[nodiscard]] bool less(Budget& budget, const Value& a, const Value& b);

// The value of the key; null where there is none.
[[nodiscard]] const Value* found_in(Budget& budget, const Table& table, const Value& key);
[[nodiscard]] const Value* found_in(Budget& budget, const Table& table, std::string_view key);
// Makes `value` the value of `key`: in its place, or behind all others where the key is new.
void put(Budget& budget, Entries& pairs, Value key, Value value);

// What `for` goes through, as a row: the items of a row, the keys of a mapping, the characters of a
// text, nothing for what is undefined. Throws for other values, and for a Once the second time.
[[nodiscard]] Value items_of(Budget& budget, const Value& of);
[[nodiscard]] int64_t characters_in(std::string_view text);
// "a text", "a list": for messages.
[[nodiscard]] std::string kind_of(const Value& value);
// A number or boolean as a number; throws for others.
[[nodiscard]] int64_t whole_number(const Value& value);
[[nodiscard]] double real_number(const Value& value);
[[nodiscard]] inline bool is_number(const Value& value) {
  return value.boolean() != nullptr || value.whole() != nullptr || value.real() != nullptr;
}

}  // namespace penstock::jinja

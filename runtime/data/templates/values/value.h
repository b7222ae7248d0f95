// runtime/data/templates/values/value.h -- Value: a value that a template computes with; the values
// and their rules are those of Python, in which Jinja, the language of chat templates, has its
// meaning.
//
// A Value is one of: undefined, none, a bool, an integer of 64 bits, a double, or a shared pointer
// to a text, a row (list), a table (mapping), a namespace, a loop or a function. All but namespaces
// and loops never change, so values are shared and not copied. Rows and tables hold no namespace,
// loop or function, so that values never refer to one another in a circle.
//
// `budget` is everywhere that of the template's run (budget.h): it counts the memory of the values
// that exist and the work done on them. Functions here throw Error(Input) when it is used up, and
// where a comment says "throws".
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
  // ---- pointers to what the value is; null if it is of another kind
  [[nodiscard]] const bool* boolean() const { return std::get_if<bool>(&data_); }
  [[nodiscard]] const int64_t* whole() const { return std::get_if<int64_t>(&data_); }
  [[nodiscard]] const double* real() const { return std::get_if<double>(&data_); }
  [[nodiscard]] const std::string* text() const;
  [[nodiscard]] bool escaped() const;  // whether it is a text with Text::escaped
  [[nodiscard]] const Row* row() const { return pointed<const Row>(); }
  [[nodiscard]] const Table* table() const { return pointed<const Table>(); }
  [[nodiscard]] Space* space() const { return pointed<Space>(); }
  [[nodiscard]] Loop* loop() const { return pointed<Loop>(); }
  [[nodiscard]] const Callable* callable() const { return pointed<const Callable>(); }

  [[nodiscard]] bool truth() const;  // Python's bool()
  // Jinja's test `is sameas`, for none, true and false; throws for other values.
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
  std::string text;  // UTF-8
  // True: the text is safe HTML (Jinja's Markup), so other texts are escaped when they are joined
  // to it.
  bool escaped = false;
  Charge charge;
};

// A list or another sequence.
struct Row {
  // Group: what the filter groupby gives, a tuple whose items are also called "grouper" and "list".
  // Range: what range() gives. View: what keys(), values() and items() of a mapping give. Once: a
  // generator, as the filter map gives it, through which a template can go only once.
  enum class Type : uint8_t { List, Tuple, Group, Range, View, Once };
  Type type = Type::List;
  Values items;
  int depth = 1;              // levels of lists and mappings, this one included
  mutable bool gone = false;  // of Once: a template has gone through it
  Charge charge;
  [[nodiscard]] bool indexed() const { return type < Type::View; }  // has items by index, row[0]
};

// A mapping (Python's dict).
struct Table {
  Entries pairs;  // keys and values
  int depth = 1;  // levels of lists and mappings, this one included
  Charge charge;
};

// What namespace(a=1) gives: an object whose members a template may set.
struct Space {
  std::vector<std::pair<std::string, Value>> members;
};

struct Node;
struct Scope;

// A function ("range"), a method of `self`, or a macro.
struct Callable {
  std::string name;
  Value self = {};                   // of a method: the value whose method it is
  const Node* macro = nullptr;       // of a macro: its definition; null: a function or method
  std::weak_ptr<Scope> around = {};  // of a macro: the names where it was defined
  [[nodiscard]] bool method() const { return macro == nullptr && !self.undefined(); }
};

// Makes a value of a text in UTF-8; `escaped` as in Text.
[[nodiscard]] Value text_value(Budget& budget, std::string text, bool escaped = false);
// Make a row of that type, and a mapping. Both throw if a namespace, loop or function is put in, or
// if values are nested too deeply.
[[nodiscard]] Value list_value(Budget& budget, Values items, Row::Type type = Row::Type::List);
[[nodiscard]] Value table_value(Budget& budget, Entries pairs);

// Python's a == b and a < b; numbers and booleans are compared as numbers. Both throw for values
// that cannot be compared.
[[nodiscard]] bool equal(Budget& budget, const Value& a, const Value& b);
[[nodiscard]] bool less(Budget& budget, const Value& a, const Value& b);

// The value of that key in the mapping; null if it has no such key.
[[nodiscard]] const Value* found_in(Budget& budget, const Table& table, const Value& key);
[[nodiscard]] const Value* found_in(Budget& budget, const Table& table, std::string_view key);
// Makes `value` the value of `key` in `pairs`; a new key goes behind all others.
void put(Budget& budget, Entries& pairs, Value key, Value value);

// What a `for` loop over `of` goes through, as a row: the items of a row, the keys of a mapping,
// the characters of a text, nothing for the value undefined. Throws for other values, and for a
// Once that was gone through before.
[[nodiscard]] Value items_of(Budget& budget, const Value& of);
[[nodiscard]] int64_t characters_in(std::string_view text);  // not bytes; `text` is UTF-8
// What the value is, for messages: "a text", "a list".
[[nodiscard]] std::string kind_of(const Value& value);
// An integer or boolean as an integer, and any number or boolean as a double; both throw for other
// values.
[[nodiscard]] int64_t whole_number(const Value& value);
[[nodiscard]] double real_number(const Value& value);
[[nodiscard]] inline bool is_number(const Value& value) {
  return value.boolean() != nullptr || value.whole() != nullptr || value.real() != nullptr;
}

}  // namespace penstock::jinja

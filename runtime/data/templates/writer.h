// runtime/data/templates/writer.h -- Writer and Lister: a text and a list that grow while a
// template runs, and whose memory counts in its Budget. Their functions throw Error(Input) above
// the budget's limits.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "runtime/data/templates/values/value.h"

namespace penstock::jinja {

// A text that grows.
class Writer {
 public:
  explicit Writer(Budget& budget) : budget_(budget) {}  // the budget must outlive it

  void add(std::string_view text) {
    grow(text.size());
    text_ += text;
  }
  void add(char c) { add(std::string_view(&c, 1)); }
  // Appends the text `times` times; nothing where `times` <= 0.
  void add_times(std::string_view text, int64_t times) {
    if (times <= 0 || text.empty()) return;
    if (static_cast<uint64_t>(times) > Budget::kMostBytes / text.size()) {
      fail_template("needs more than 64 MiB of memory");
    }
    grow(text.size() * static_cast<size_t>(times));
    for (int64_t i = 0; i < times; ++i) text_ += text;
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  // Moves the text out as a value; `escaped` as in Text (value.h). The writer is empty afterwards.
  [[nodiscard]] Value value(bool escaped = false) {
    return text_value(budget_, std::move(text_), escaped);
  }

 private:
  void grow(size_t bytes) {
    budget_.work(bytes);
    if (text_.capacity() - text_.size() >= bytes) return;
    // Both the old and the new memory are held for a moment, so both are charged.
    const size_t room = std::max(text_.size() + bytes, 2 * text_.capacity());
    Charge more(budget_, room);
    text_.reserve(room);
    charge_ = std::move(more);
  }

  Budget& budget_;
  std::string text_;
  Charge charge_;
};

// A list that grows.
class Lister {
 public:
  explicit Lister(Budget& budget) : budget_(budget) {}

  void add(Value value) {
    budget_.work(sizeof(Value));
    if (items_.size() == items_.capacity()) {
      const size_t room = std::max<size_t>(4, 2 * items_.size());
      Charge more(budget_, room * sizeof(Value));
      items_.reserve(room);
      charge_ = std::move(more);
    }
    items_.push_back(std::move(value));
  }
  [[nodiscard]] const Values& items() const { return items_; }
  // Moves the items out as a value of that type; the lister is empty afterwards.
  [[nodiscard]] Value value(Row::Type type = Row::Type::List) {
    charge_ = {};
    return list_value(budget_, std::move(items_), type);
  }

 private:
  Budget& budget_;
  Values items_;
  Charge charge_;
};

}  // namespace penstock::jinja

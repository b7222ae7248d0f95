// runtime/data/jinja/value.h -- what expressions of a template (Jinja) are about.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace penstock::jinja {

class Value;
using List = std::vector<Value>;
using Map = std::vector<std::pair<std::string, Value>>;  // in the order of insertion

struct Undefined {};
struct None {};

// Lists and maps are shared, as Python's are; nothing changes a list, and of maps only namespaces
// are changed.
class Value {
 public:
  Value() = default;
  Value(const char*) = delete;  // would be a truth
  Value(None none) : data_(none) {}
  Value(bool truth) : data_(truth) {}
  Value(int64_t number) : data_(number) {}
  Value(std::string text) : data_(std::move(text)) {}
  Value(List list) : data_(std::make_shared<List>(std::move(list))) {}
  Value(Map map) : data_(std::make_shared<Map>(std::move(map))) {}

  [[nodiscard]] bool undefined() const { return std::holds_alternative<Undefined>(data_); }
  [[nodiscard]] bool none() const { return std::holds_alternative<None>(data_); }
  // Null where it is of another kind.
  [[nodiscard]] const bool* boolean() const { return std::get_if<bool>(&data_); }
  [[nodiscard]] const int64_t* number() const { return std::get_if<int64_t>(&data_); }
  [[nodiscard]] const std::string* text() const { return std::get_if<std::string>(&data_); }
  [[nodiscard]] const List* list() const;
  [[nodiscard]] Map* map() const;

  // What Python says of them. `shown` of a list or map throws Error(Input): nobody writes those.
  [[nodiscard]] bool truth() const;
  [[nodiscard]] std::string shown() const;
  [[nodiscard]] bool equals(const Value& other) const;

 private:
  std::variant<Undefined, None, bool, int64_t, std::string, std::shared_ptr<List>,
               std::shared_ptr<Map>>
      data_;
};

// The member of a map; undefined where it has none.
[[nodiscard]] Value member_of(const Map& map, const std::string& key);
void set_member(Map& map, const std::string& key, Value value);

}  // namespace penstock::jinja

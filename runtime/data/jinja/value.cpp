#include "runtime/data/jinja/value.h"

#include <algorithm>

#include "kernels/error.h"

namespace penstock::jinja {
namespace {

// True and False are 1 and 0, as in Python.
const int64_t* as_number(const Value& value, int64_t& room) {
  if (const bool* truth = value.boolean()) {
    room = *truth ? 1 : 0;
    return &room;
  }
  return value.number();
}

}  // namespace

const List* Value::list() const {
  const auto* list = std::get_if<std::shared_ptr<List>>(&data_);
  return list == nullptr ? nullptr : list->get();
}

Map* Value::map() const {
  const auto* map = std::get_if<std::shared_ptr<Map>>(&data_);
  return map == nullptr ? nullptr : map->get();
}

bool Value::truth() const {
  if (const bool* truth = boolean()) return *truth;
  if (const int64_t* value = number()) return *value != 0;
  if (const std::string* value = text()) return !value->empty();
  if (const List* value = list()) return !value->empty();
  if (const Map* value = map()) return !value->empty();
  return false;
}

std::string Value::shown() const {
  if (const bool* truth = boolean()) return *truth ? "True" : "False";
  if (const int64_t* value = number()) return std::to_string(*value);
  if (const std::string* value = text()) return *value;
  if (none()) return "None";
  if (undefined()) return {};
  fail_input("the chat template writes a list or a mapping, which is not supported");
}

bool Value::equals(const Value& other) const {
  int64_t room = 0;
  int64_t other_room = 0;
  const int64_t* one = as_number(*this, room);
  const int64_t* two = as_number(other, other_room);
  if (one != nullptr || two != nullptr) return one != nullptr && two != nullptr && *one == *two;
  if (text() != nullptr || other.text() != nullptr) {
    return text() != nullptr && other.text() != nullptr && *text() == *other.text();
  }
  if (list() != nullptr && other.list() != nullptr) {
    return std::ranges::equal(*list(), *other.list(),
                              [](const Value& a, const Value& b) { return a.equals(b); });
  }
  if (map() != nullptr && other.map() != nullptr) {
    fail_input("the chat template compares mappings, which is not supported");
  }
  return (none() && other.none()) || (undefined() && other.undefined());
}

Value member_of(const Map& map, const std::string& key) {
  const auto found = std::ranges::find(map, key, &Map::value_type::first);
  return found == map.end() ? Value() : found->second;
}

void set_member(Map& map, const std::string& key, Value value) {
  const auto found = std::ranges::find(map, key, &Map::value_type::first);
  if (found == map.end()) {
    map.emplace_back(key, std::move(value));
  } else {
    found->second = std::move(value);
  }
}

}  // namespace penstock::jinja

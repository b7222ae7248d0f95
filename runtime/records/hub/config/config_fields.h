// runtime/records/hub/config/config_fields.h -- ConfigFields: reads members of a config.json by
// name, and knows in the end which of them nothing has asked for.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>

namespace penstock {

// Whether the value is false, or an empty text, list or object.
[[nodiscard]] bool asks_for_nothing(const nlohmann::json& value);
// Whether the value asks for nothing, is a zero (nothing is added), or the float 1.0 (nothing is
// scaled); an integer 1 is a count.
[[nodiscard]] bool leaves_all_as_it_is(const nlohmann::json& value);

// All throw Error(Input) naming `where` and the member. A member that is null counts as absent, as
// Python's None mostly does; is_null() tells the two apart.
class ConfigFields {
 public:
  // `document` is an object and outlives this.
  ConfigFields(const nlohmann::json& document, std::string where)
      : document_(document), where_(std::move(where)) {}

  [[nodiscard]] bool has(const char* key) const { return find(key) != nullptr; }
  [[nodiscard]] bool is_null(const char* key) const;  // there, as null
  // The value of a member, `otherwise` where it is absent; without `otherwise` it must be there.
  int64_t whole(const char* key, std::optional<int64_t> otherwise = {});  // 1 to 10^9
  double number(const char* key, std::optional<double> otherwise = {});   // finite, above 0
  bool flag(const char* key, std::optional<bool> otherwise = {});
  std::string text(const char* key, std::optional<std::string> otherwise = {});
  const nlohmann::json* any(const char* key);  // null when absent

  // Refuses any other value, with which the network could not be built here; absent is allowed.
  void must_be(const char* key, const nlohmann::json& value);
  // Marks members as read that change nothing in the network, whatever their values.
  void ignore(std::span<const char* const> keys);
  // Refuses the first member that was not asked for, unless it is null or `neutral`, or private to
  // Python (_name).
  void refuse_rest(bool (*neutral)(const nlohmann::json&)) const;

  // Throws Error(Input): the member `key` <why>.
  [[noreturn]] void refuse(const std::string& key, const std::string& why) const;
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  [[nodiscard]] const nlohmann::json* find(const char* key) const;
  const nlohmann::json* take(const char* key, bool required);

  const nlohmann::json& document_;
  std::string where_;
  std::set<std::string> known_;
};

}  // namespace penstock

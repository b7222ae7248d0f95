// runtime/records/hub/config/config_fields.h -- ConfigFields: reads the members of a Hugging Face
// config.json one by one with checks, and in the end refuses a member that nobody has read, since
// it may change the network in a way that is not known here.
//
// A reader of one family of models calls whole(), number(), flag(), text(), any(), must_be() and
// ignore() for all members that it knows, and refuse_rest() last.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>

namespace penstock {

// Two tests for refuse_rest(), whether a member that is not known here can be harmless by its value
// alone. The first: the value is false, or an empty text, list or object.
[[nodiscard]] bool asks_for_nothing(const nlohmann::json& value);
// The second: the same, or a zero (as a bias or a probability, it adds nothing), or the float 1.0
// (as a factor, it scales nothing). An integer 1 is a count, and not harmless.
[[nodiscard]] bool leaves_all_as_it_is(const nlohmann::json& value);

// Methods throw Error(Input) naming `where` and the member if a value is not what they say. A
// member whose value is null counts as absent, except for is_null().
class ConfigFields {
 public:
  // `document` must be a JSON object and outlive this; `where` is the file, for messages.
  ConfigFields(const nlohmann::json& document, std::string where)
      : document_(document), where_(std::move(where)) {}

  [[nodiscard]] bool has(const char* key) const { return find(key) != nullptr; }
  [[nodiscard]] bool is_null(const char* key) const;  // whether it is there with the value null
  // These five return the value of a member and mark it as read. If it is absent they return
  // `otherwise`; they throw if there is no `otherwise`.
  int64_t whole(const char* key, std::optional<int64_t> otherwise = {});  // from 1 to 10^9
  double number(const char* key, std::optional<double> otherwise = {});   // finite, above 0
  bool flag(const char* key, std::optional<bool> otherwise = {});
  std::string text(const char* key, std::optional<std::string> otherwise = {});
  // A value of any type, in the document; a null pointer if absent.
  const nlohmann::json* any(const char* key);

  // Throws unless the member is absent or equal to `value`, the only value with which the network
  // can be built here. Marks it as read.
  void must_be(const char* key, const nlohmann::json& value);
  // Marks members as read that never change the network, whatever their values.
  void ignore(std::span<const char* const> keys);
  // Throws for the first member that is not marked as read, unless its value is null, `neutral`
  // returns true for its value, or its name begins with an underscore.
  void refuse_rest(bool (*neutral)(const nlohmann::json&)) const;

  // Throws Error(Input) with the text "<where>: <key> <why>".
  [[noreturn]] void refuse(const std::string& key, const std::string& why) const;
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  // The member's value; a null pointer if it is absent or null.
  [[nodiscard]] const nlohmann::json* find(const char* key) const;
  // find(), which marks the member as read, and throws if it is `required` and absent.
  const nlohmann::json* take(const char* key, bool required);

  const nlohmann::json& document_;
  std::string where_;
  std::set<std::string> known_;  // the members that are marked as read
};

}  // namespace penstock

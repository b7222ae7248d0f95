// runtime/data/tokenizer/hub/json_source.h -- JsonSource: reads members of a tokenizer.json, each
// checked for its type, with errors that name the file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace penstock {

// Functions throw Error(Data) where the file is damaged, Error(Input) for what is not supported.
// `otherwise`: what an absent member counts as.
class JsonSource {
 public:
  explicit JsonSource(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[noreturn]] void refuse(const std::string& what) const;   // throws "... is not supported"
  [[noreturn]] void damaged(const std::string& what) const;  // throws Error(Data)

  // The member; a null pointer where it is absent or null.
  [[nodiscard]] static const nlohmann::json* part(const nlohmann::json& parent, const char* key);
  [[nodiscard]] std::string type_of(const nlohmann::json& value) const;  // its "type"
  [[nodiscard]] bool flag(const nlohmann::json& parent, const char* key, bool otherwise) const;
  [[nodiscard]] std::string text(const nlohmann::json& parent, const char* key,
                                 const std::string& otherwise) const;
  [[nodiscard]] int32_t id(const nlohmann::json& value) const;  // in [0, kMostTokenIds)
  // The list that the member is; an empty one where it is absent.
  [[nodiscard]] const nlohmann::json& list(const nlohmann::json& parent, const char* key) const;
  // The steps inside `value`: where its type is Sequence, those under `key`, sequences in it opened
  // as well; else `value` alone.
  [[nodiscard]] std::vector<const nlohmann::json*> in_sequence(const nlohmann::json& value,
                                                               const char* key) const;
  // Refuses a member that is there and neither null, false, 0 nor ""; `of` stands before its name.
  void refuse_set(const nlohmann::json& parent, const char* key, const std::string& of) const;

 private:
  std::string path_;
};

}  // namespace penstock

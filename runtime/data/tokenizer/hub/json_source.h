// runtime/data/tokenizer/hub/json_source.h -- JsonSource: reads members of a tokenizer.json that
// was parsed as JSON, each checked for its type, with errors that name the file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace penstock {

// Functions that read a member throw Error(Data) if it has the wrong type. `parent` is the object
// that has the member called `key`; `otherwise` is returned if it has none.
class JsonSource {
 public:
  explicit JsonSource(std::string path) : path_(std::move(path)) {}  // of the file, for messages

  [[nodiscard]] const std::string& path() const { return path_; }
  // Throws Error(Input): the file has `what`, which is not supported.
  [[noreturn]] void refuse(const std::string& what) const;
  // Throws Error(Data): `what` is wrong in the file.
  [[noreturn]] void damaged(const std::string& what) const;

  // The member; a null pointer if it is absent or null.
  [[nodiscard]] static const nlohmann::json* part(const nlohmann::json& parent, const char* key);
  // The member "type" of `value`, which must be an object.
  [[nodiscard]] std::string type_of(const nlohmann::json& value) const;
  [[nodiscard]] bool flag(const nlohmann::json& parent, const char* key, bool otherwise) const;
  [[nodiscard]] std::string text(const nlohmann::json& parent, const char* key,
                                 const std::string& otherwise) const;
  // `value` as a token id, in [0, kMostTokenIds).
  [[nodiscard]] int32_t id(const nlohmann::json& value) const;
  // The member, which must be there and be a list.
  [[nodiscard]] const nlohmann::json& list(const nlohmann::json& parent, const char* key) const;
  // The steps of a part such as "normalizer". If the type of `value` is "Sequence", these are the
  // elements of its list `key`, with sequences among them opened in the same way; else `value`
  // alone.
  [[nodiscard]] std::vector<const nlohmann::json*> in_sequence(const nlohmann::json& value,
                                                               const char* key) const;
  // Calls refuse() if the member is there and is not null, false, 0 or "", so that it would change
  // the ids. The message names it as `of` followed by `key`.
  void refuse_set(const nlohmann::json& parent, const char* key, const std::string& of) const;

 private:
  std::string path_;
};

}  // namespace penstock

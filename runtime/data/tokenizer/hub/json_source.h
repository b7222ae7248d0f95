// runtime/data/tokenizer/hub/json_source.h -- what the readers of a tokenizer.json ask of its
// parts.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace penstock {

// All throw: Error(Data) where the file is damaged, Error(Input) for what is not supported.
class JsonSource {
 public:
  explicit JsonSource(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[noreturn]] void refuse(const std::string& what) const;  // "... is not supported"
  [[noreturn]] void damaged(const std::string& what) const;

  // The member, if it is there and not null; else a null pointer.
  [[nodiscard]] static const nlohmann::json* part(const nlohmann::json& parent, const char* key);
  [[nodiscard]] std::string type_of(const nlohmann::json& value) const;
  [[nodiscard]] bool flag(const nlohmann::json& parent, const char* key, bool otherwise) const;
  [[nodiscard]] std::string text(const nlohmann::json& parent, const char* key,
                                 const std::string& otherwise) const;
  [[nodiscard]] int32_t id(const nlohmann::json& value) const;
  // An empty one where it is absent.
  [[nodiscard]] const nlohmann::json& list(const nlohmann::json& parent, const char* key) const;
  // The parts of a part of type Sequence, which has them under `key`, at any depth; of any other
  // part, the part itself.
  [[nodiscard]] std::vector<const nlohmann::json*> in_sequence(const nlohmann::json& value,
                                                               const char* key) const;
  // Refuses a member that is set to anything that would change ids.
  void refuse_set(const nlohmann::json& parent, const char* key, const std::string& of) const;

 private:
  std::string path_;
};

}  // namespace penstock

// launch/program/planning/files/file_object.h -- FileObject: an object of a JSON file that a user
// hands over (a profile, costs, a certificate), with the words for what is wrong in it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/planning/schedule/timing/costs.h"

namespace penstock {

// Numbers are finite and at least 0. All members throw Error(Input): a line with the file, the key,
// what is wrong, and the cure.
class FileObject {
 public:
  // The whole document. `file` is its path; `cure` is what to do when it is wrong. All three must
  // outlive it and all that is taken from it.
  FileObject(const std::string& file, const char* cure, const nlohmann::json& json);

  [[nodiscard]] bool has(const char* key) const { return json_.contains(key); }
  // These throw where there is no such member.
  [[nodiscard]] FileObject object(const char* key) const;
  [[nodiscard]] std::vector<FileObject> objects(const char* key) const;
  [[nodiscard]] std::string text(const char* key) const;
  [[nodiscard]] std::vector<std::string> texts(const char* key) const;
  [[nodiscard]] double number(const char* key) const;
  [[nodiscard]] int64_t integer(const char* key) const;
  [[nodiscard]] std::vector<int64_t> integers(const char* key) const;
  // A count of something, which fits an int.
  [[nodiscard]] int count(const char* key) const;
  [[nodiscard]] bool flag(const char* key) const;

  // Throws for a member that is none of these.
  void know(std::initializer_list<const char*> keys) const;
  // Where it is in the document, for messages; empty for the whole.
  [[nodiscard]] const std::string& place() const { return place_; }
  // Where its member `key` is, there or not.
  [[nodiscard]] std::string named(const char* key) const;
  [[noreturn]] void fail(const std::string& key, const std::string& what) const;

 private:
  FileObject(const FileObject& parent, std::string place, const nlohmann::json& json);
  [[nodiscard]] const nlohmann::json& member(const char* key) const;
  [[nodiscard]] const nlohmann::json& list(const char* key) const;
  [[nodiscard]] int64_t integer_of(const std::string& key, const nlohmann::json& json) const;

  const std::string& file_;
  const char* cure_;
  std::string place_;
  const nlohmann::json& json_;
};

// The document of a user's file of at most `most_bytes`. Throws Error(Input), with the cure where
// the file is there and is no JSON.
[[nodiscard]] nlohmann::json read_user_json(const std::string& path, int64_t most_bytes,
                                            const char* cure);

// A link as {latency_s, seconds_per_byte, overhead_s, receiver_copies}, and back.
[[nodiscard]] nlohmann::ordered_json link_json(const LinkTimes& link);
[[nodiscard]] LinkTimes link_of(const FileObject& object);

}  // namespace penstock

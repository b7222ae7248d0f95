// launch/program/planning/files/file_object.cpp -- see file_object.h.
#include "launch/program/planning/files/file_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kernels/error.h"
#include "runtime/system/files/input_file.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

// Sums of so many bytes over all layers or stages stay in 64 bits.
constexpr int64_t kLargestInteger = 10'000'000'000'000;
constexpr double kLargestNumber = 1e30;

}  // namespace

FileObject::FileObject(const std::string& file, const char* cure, const nlohmann::json& json)
    : file_(file), cure_(cure), json_(json) {
  if (!json_.is_object()) fail("it", "is no object");
}

FileObject::FileObject(const FileObject& parent, std::string place, const nlohmann::json& json)
    : file_(parent.file_), cure_(parent.cure_), place_(std::move(place)), json_(json) {
  if (!json_.is_object()) fail(place_, "is no object");
}

FileObject FileObject::object(const char* key) const {
  return {*this, named(key), member(key)};
}

std::vector<FileObject> FileObject::objects(const char* key) const {
  std::vector<FileObject> all;
  for (size_t i = 0; const nlohmann::json& each : list(key)) {
    all.push_back({*this, fmt::format("{}[{}]", named(key), i++), each});
  }
  return all;
}

std::string FileObject::text(const char* key) const {
  if (!member(key).is_string()) fail(named(key), "is no text");
  return member(key).get<std::string>();
}

std::vector<std::string> FileObject::texts(const char* key) const {
  std::vector<std::string> all;
  for (const nlohmann::json& each : list(key)) {
    if (!each.is_string()) fail(named(key), "has what is no text");
    all.push_back(each.get<std::string>());
  }
  return all;
}

double FileObject::number(const char* key) const {
  if (!member(key).is_number()) fail(named(key), "is no number");
  const auto value = member(key).get<double>();
  if (!(value >= 0.0)) fail(named(key), "is below 0");
  if (value > kLargestNumber) fail(named(key), "is too large");
  return value;
}

int64_t FileObject::integer(const char* key) const {
  return integer_of(named(key), member(key));
}

std::vector<int64_t> FileObject::integers(const char* key) const {
  std::vector<int64_t> all;
  for (size_t i = 0; const nlohmann::json& each : list(key)) {
    all.push_back(integer_of(fmt::format("{}[{}]", named(key), i++), each));
  }
  return all;
}

int FileObject::count(const char* key) const {
  const int64_t value = integer(key);
  if (value > std::numeric_limits<int>::max()) fail(named(key), "is too large");
  return static_cast<int>(value);
}

bool FileObject::flag(const char* key) const {
  if (!member(key).is_boolean()) fail(named(key), "is neither true nor false");
  return member(key).get<bool>();
}

void FileObject::know(std::initializer_list<const char*> keys) const {
  for (const auto& item : json_.items()) {
    const std::string& key = item.key();
    if (std::none_of(keys.begin(), keys.end(), [&](const char* known) { return key == known; })) {
      fail(named(key.c_str()), "is not known");
    }
  }
}

void FileObject::fail(const std::string& key, const std::string& what) const {
  fail_input(fmt::format("{}: {} {}; {}", file_, key, what, cure_));
}

std::string FileObject::named(const char* key) const {
  return place_.empty() ? fmt::format("'{}'", key) : fmt::format("{} '{}'", place_, key);
}

const nlohmann::json& FileObject::member(const char* key) const {
  const auto found = json_.find(key);
  if (found == json_.end()) fail(named(key), "is missing");
  return *found;
}

const nlohmann::json& FileObject::list(const char* key) const {
  if (!member(key).is_array()) fail(named(key), "is no list");
  return member(key);
}

int64_t FileObject::integer_of(const std::string& key, const nlohmann::json& json) const {
  if (!json.is_number_integer()) fail(key, "is no integer");
  const auto value = json.get<int64_t>();
  if (value < 0) fail(key, "is below 0");
  if (value > kLargestInteger) fail(key, "is too large");
  return value;
}

nlohmann::json read_user_json(const std::string& path, int64_t most_bytes, const char* cure) {
  try {
    return read_json_file(path, most_bytes, FileOwner::User);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Input) throw;
    fail_input(fmt::format("{}; {}", error.what(), cure));
  }
}

nlohmann::ordered_json link_json(const LinkTimes& link) {
  return {{"latency_s", link.latency},
          {"seconds_per_byte", link.seconds_per_byte},
          {"overhead_s", link.overhead},
          {"receiver_copies", link.receiver_copies}};
}

LinkTimes link_of(const FileObject& object) {
  return {.latency = object.number("latency_s"),
          .seconds_per_byte = object.number("seconds_per_byte"),
          .overhead = object.number("overhead_s"),
          .receiver_copies = object.flag("receiver_copies")};
}

}  // namespace penstock

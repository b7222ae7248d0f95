#include "runtime/data/tokenizer/hub/json_source.h"

#include "kernels/error.h"
#include "runtime/data/tokenizer/hub/tokenizer_json.h"
#include "runtime/system/files/json.h"

namespace penstock {

using nlohmann::json;

void JsonSource::refuse(const std::string& what) const {
  fail_input(path_ + ": " + what + " is not supported");
}

void JsonSource::damaged(const std::string& what) const {
  fail_data(path_ + ": " + what);
}

const json* JsonSource::part(const json& parent, const char* key) {
  const auto found = parent.find(key);
  return found == parent.end() || found->is_null() ? nullptr : &*found;
}

std::string JsonSource::type_of(const json& value) const {
  if (!value.is_object()) damaged("a part of it is no object");
  return json_text(value, "type", path_);
}

bool JsonSource::flag(const json& parent, const char* key, bool otherwise) const {
  const json* value = part(parent, key);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) damaged("\"" + std::string(key) + "\" is neither true nor false");
  return value->get<bool>();
}

std::string JsonSource::text(const json& parent, const char* key,
                             const std::string& otherwise) const {
  return part(parent, key) == nullptr ? otherwise : json_text(parent, key, path_);
}

int32_t JsonSource::id(const json& value) const {
  if (!value.is_number_unsigned() ||
      value.get<uint64_t>() >= static_cast<uint64_t>(kMostTokenIds)) {
    damaged("an id is not a whole number below 2^24");
  }
  return value.get<int32_t>();
}

const json& JsonSource::list(const json& parent, const char* key) const {
  const json* value = part(parent, key);
  if (value == nullptr) damaged("\"" + std::string(key) + "\" is missing");
  if (!value->is_array()) damaged("\"" + std::string(key) + "\" is not a list");
  return *value;
}

std::vector<const json*> JsonSource::in_sequence(const json& value, const char* key) const {
  if (type_of(value) != "Sequence") return {&value};
  std::vector<const json*> all;
  for (const json& one : list(value, key)) {
    const std::vector<const json*> inner = in_sequence(one, key);
    all.insert(all.end(), inner.begin(), inner.end());
  }
  return all;
}

void JsonSource::refuse_set(const json& parent, const char* key, const std::string& of) const {
  const json* value = part(parent, key);
  const bool off = value == nullptr || *value == json("") || *value == json(false) ||
                   (value->is_number() && *value == json(0.0));
  if (!off) refuse("\"" + of + key + "\"");
}

}  // namespace penstock

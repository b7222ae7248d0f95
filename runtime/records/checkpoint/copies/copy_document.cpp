#include "runtime/records/checkpoint/copies/copy_document.h"

#include <limits>

#include "kernels/error.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

constexpr uint64_t kCopyFormat = 1;  // to be raised if a change would mislead an old reader

bool flag(const nlohmann::json& document, const char* key, const std::string& file) {
  const auto found = document.find(key);
  if (found != document.end() && found->is_boolean()) return found->get<bool>();
  fail_data(file + ": \"" + key + "\" is not true or false");
}

int small_count(const nlohmann::json& document, const char* key, const std::string& file) {
  const uint64_t value = json_count(document, key, file);
  if (value <= static_cast<uint64_t>(std::numeric_limits<int>::max())) {
    return static_cast<int>(value);
  }
  fail_data(file + ": \"" + key + "\" is too large");
}

}  // namespace

std::string encode_copy(const CopyDocument& document) {
  const nlohmann::ordered_json json = {{"format", kCopyFormat},
                                       {"attempt", document.attempt},
                                       {"rank", document.rank},
                                       {"ranks", document.ranks},
                                       {"is_frozen", document.is_frozen},
                                       {"needs_frozen", document.needs_frozen},
                                       {"bytes", document.file.size_bytes},
                                       {"xxh3_64", document.file.checksum},
                                       {"state", encode_state(document.state)}};
  return json.dump() + "\n";
}

CopyDocument parse_copy(const std::string& text, const std::string& file) {
  const nlohmann::json json = parse_json(text, file);
  if (json_count(json, "format", file) != kCopyFormat) {
    fail_data(file + ": its format is another version's");
  }
  CopyDocument document;
  document.attempt = small_count(json, "attempt", file);
  document.rank = small_count(json, "rank", file);
  document.ranks = small_count(json, "ranks", file);
  document.is_frozen = flag(json, "is_frozen", file);
  document.needs_frozen = flag(json, "needs_frozen", file);
  document.file = {json_count(json, "bytes", file), json_text(json, "xxh3_64", file)};
  document.state = parse_state(json_text(json, "state", file), file);
  if (document.rank >= document.ranks) fail_data(file + ": there is no such rank");
  return document;
}

}  // namespace penstock

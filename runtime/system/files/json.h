// runtime/system/files/json.h -- reads JSON from files that anybody may have written, with limits
// and checks that nlohmann-json lacks, and writes JSON with texts that need not be UTF-8 (paths).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "runtime/system/files/byte_text.h"
#include "runtime/system/files/input_file.h"
#include "runtime/system/files/json_events.h"

namespace penstock {

// The number of values that parse_json() accepts where the caller does not say; each takes about a
// hundred bytes of memory.
inline constexpr int64_t kMostJsonValues = 1'000'000;
// Parses `text`, which must be one JSON object. Refuses what nlohmann-json accepts: a key that is
// there twice (two readers could see two different documents), objects and lists nested more than
// `most_levels` deep, and more than `most_values` values. For small documents; large ones are read
// value by value (json_events.h). Throws Error(Data) naming `where` (the file) and the byte.
[[nodiscard]] nlohmann::json parse_json(std::string_view text, const std::string& where,
                                        int64_t most_values = kMostJsonValues,
                                        size_t most_levels = kMostJsonLevels);

// The text without the byte order mark (BOM) that some editors put before UTF-8.
[[nodiscard]] std::string_view without_mark(std::string_view text);

// parse_json() of a file. Throws also where the file cannot be opened or is larger than
// `most_bytes`: Error(Input) for a user's file, Error(Data) for a run's (InputFile).
[[nodiscard]] nlohmann::json read_json_file(const std::string& path, int64_t most_bytes,
                                            FileOwner owner);

// A copy of a document in which each text, keys included, is replaced by form(text).
template <class Json, class Form>
[[nodiscard]] Json with_texts(const Json& document, const Form& form) {
  if (document.is_string()) return form(document.template get_ref<const std::string&>());
  if (!document.is_structured()) return document;
  Json made = document.is_array() ? Json::array() : Json::object();
  for (const auto& [key, value] : document.items()) {
    if (document.is_array()) {
      made.push_back(with_texts(value, form));
    } else {
      made[form(key)] = with_texts(value, form);
    }
  }
  return made;
}

// A document as JSON for people, on one line (indent -1) or indented by `indent` columns. Texts
// that are not UTF-8, as paths may be, are shown by shown_bytes() (byte_text.h).
template <class Json>
[[nodiscard]] std::string shown_json(const Json& document, int indent = -1) {
  try {
    return document.dump(indent);
  } catch (const typename Json::type_error&) {
    return with_texts(document, shown_bytes).dump(indent);
  }
}

// A document as text for another rank, and back; texts that are not UTF-8 arrive unchanged.
// unpacked_json() of another text throws nlohmann::json::exception.
[[nodiscard]] std::string packed_json(const nlohmann::json& document);
[[nodiscard]] nlohmann::json unpacked_json(const std::string& text);

// A name from a file, for a one-line message: in quotes, with control characters escaped, cut where
// it is long.
[[nodiscard]] std::string quoted(const std::string& name);

// A message from an error of the JSON library, without its prefix and in another order: the place,
// then what was read there (cut in the middle where it is long), then what was expected.
[[nodiscard]] std::string json_complaint(const nlohmann::json::exception& error);

// The member `key` of `parent` as an object, a text, or a whole number >= 0. Each throws
// Error(Data) naming `where` (the file) and the key when the member is missing or of another type.
[[nodiscard]] const nlohmann::json& json_object(const nlohmann::json& parent, const char* key,
                                                const std::string& where);
[[nodiscard]] std::string json_text(const nlohmann::json& parent, const char* key,
                                    const std::string& where);
[[nodiscard]] uint64_t json_count(const nlohmann::json& parent, const char* key,
                                  const std::string& where);

}  // namespace penstock

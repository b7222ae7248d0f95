// runtime/system/files/json.h -- reads JSON of untrusted files, which may hold anything, and writes
// JSON whose texts need not be UTF-8.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "runtime/system/files/byte_text.h"
#include "runtime/system/files/input_file.h"
#include "runtime/system/files/json_events.h"

namespace penstock {

// Parses `text`, which must be one object. Refuses what nlohmann-json lets pass: duplicate keys
// (two readers could see two different files), more than `most_levels` objects and lists within
// each other, and more than `most_values` values, each of which takes a hundred bytes. For
// documents of a page; larger ones are read value by value (json_events.h). Throws Error(Data)
// naming `where` and the byte.
inline constexpr int64_t kMostJsonValues = 1'000'000;
[[nodiscard]] nlohmann::json parse_json(std::string_view text, const std::string& where,
                                        int64_t most_values = kMostJsonValues,
                                        size_t most_levels = kMostJsonLevels);

// The text without the byte order mark of UTF-8 that some editors put before it.
[[nodiscard]] std::string_view without_mark(std::string_view text);

// parse_json() of a file; throws as well where the file cannot be read or is above `most_bytes`.
[[nodiscard]] nlohmann::json read_json_file(const std::string& path, int64_t most_bytes,
                                            FileOwner owner);

// A copy of a document in which `form` has been applied to every text, values and names alike.
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

// A document as text: in one line, or with that indentation. Texts that are not UTF-8, such as
// paths may be, are shown (shown_bytes()).
template <class Json>
[[nodiscard]] std::string shown_json(const Json& document, int indent = -1) {
  try {
    return document.dump(indent);
  } catch (const typename Json::type_error&) {
    return with_texts(document, shown_bytes).dump(indent);
  }
}

// A document as text for another rank of the job, and back: texts that are not UTF-8 come out as
// they were.
[[nodiscard]] std::string packed_json(const nlohmann::json& document);
[[nodiscard]] nlohmann::json unpacked_json(const std::string& text);

// A name from untrusted JSON, for a message of one line: in quotes, control characters escaped, a
// long one cut.
[[nodiscard]] std::string quoted(const std::string& name);

// The JSON library's words about a text, without its own prefix: the place first, then what it
// read, which may be as long as the file and is cut in the middle, and what it wanted.
[[nodiscard]] std::string json_complaint(const nlohmann::json::exception& error);

// The member `key` of `parent`, as an object, a text or a whole number >= 0. Throw Error(Data)
// naming `where` and the key where it is not there or of another type.
[[nodiscard]] const nlohmann::json& json_object(const nlohmann::json& parent, const char* key,
                                                const std::string& where);
[[nodiscard]] std::string json_text(const nlohmann::json& parent, const char* key,
                                    const std::string& where);
[[nodiscard]] uint64_t json_count(const nlohmann::json& parent, const char* key,
                                  const std::string& where);

}  // namespace penstock

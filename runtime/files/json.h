// runtime/files/json.h -- JSON from files that nobody vouches for.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "runtime/files/input_file.h"
#include "runtime/files/json_events.h"

namespace penstock {

// The document, which must be an object. Refuses what nlohmann-json lets pass: duplicate keys (two
// readers could see two different files), deep nesting and more than `most_values` values, each of
// which takes a hundred bytes. For documents of a page; larger ones are told value by value
// (json_events.h). Throws Error(Data) naming `where` and the byte.
inline constexpr int64_t kMostJsonValues = 1'000'000;
[[nodiscard]] nlohmann::json parse_json(std::string_view text, const std::string& where,
                                        int64_t most_values = kMostJsonValues,
                                        size_t most_levels = kMostJsonLevels);

// The text behind the mark of UTF-8 (a byte order mark) that some editors put before it.
[[nodiscard]] std::string_view without_mark(std::string_view text);

// Of a file: throws as read_text() does as well.
[[nodiscard]] nlohmann::json read_json_file(const std::string& path, int64_t most_bytes,
                                            FileOwner owner);

// A name from such a file, for a message of one line: in quotes, control characters escaped, a
// long one cut.
[[nodiscard]] std::string quoted(const std::string& name);

// What the JSON library says of a text, without its own prefix: the place first, then what it
// read, which may be as long as the file and is cut in the middle, and what it wanted.
[[nodiscard]] std::string json_complaint(const nlohmann::json::exception& error);

// The members that a file must have; throw Error(Data) naming `where` and the key.
[[nodiscard]] const nlohmann::json& json_object(const nlohmann::json& parent, const char* key,
                                                const std::string& where);
[[nodiscard]] std::string json_text(const nlohmann::json& parent, const char* key,
                                    const std::string& where);
[[nodiscard]] uint64_t json_count(const nlohmann::json& parent, const char* key,
                                  const std::string& where);

}  // namespace penstock

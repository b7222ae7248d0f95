// launch/program/sweep/file/section_key.h -- what the readers of the sections of a sweep file
// share: a table of keys, and the values that they take. It includes toml++, which is a large
// library, so only sweep_file.cpp and its parts include this.
#pragma once

#include <toml++/toml.h>

#include <span>
#include <string>

#include "launch/program/sweep/file/sweep_file.h"

namespace penstock {

// A key of a section.
struct SectionKey {
  const char* name;
  const char* allowed;                            // "an integer >= 1"
  bool (*set)(const toml::node&, SweepFile& to);  // false for what is not allowed; may throw Error
};

// Fills in `to` from `table`, the section with that name; `file` is the file's path, for messages.
// `elsewhere` is said of an unknown key that is like no known one. Throws Error(Input) naming file,
// line and key.
void read_section(const toml::table& table, const std::string& section,
                  std::span<const SectionKey> keys, const std::string& elsewhere,
                  const std::string& file, SweepFile& to);

// Sets a text that is not empty. False for anything else.
bool set_text(const toml::node& node, std::string& to);

// The option that "stages", "pipeline.stages" or "micro_batches" names; null: none. Dashes of short
// names are underlines in a sweep file.
[[nodiscard]] const Option* option_written(const std::string& written);

}  // namespace penstock

// launch/program/options/toml_value.h -- nodes of TOML as values of options. Includes toml++, so
// only what reads such files includes this.
#pragma once

#include <toml++/toml.h>

#include <optional>
#include <string>

#include "launch/program/options/option_table.h"

namespace penstock {

// The node as the type of the option; nothing when it is of another.
[[nodiscard]] std::optional<OptionValue> value_of(const toml::node& node, const Option& option);

// A node as the user may have written it, short enough for a message of one line.
[[nodiscard]] std::string excerpt(const toml::node& node);

// A text as a file has it, quotes included, on one line.
[[nodiscard]] std::string toml_string(const std::string& text);

// A file with such nodes. Throws Error(Input) naming file and line for what is no TOML, or nested
// too deeply; `what` is "run file", `name` stands for the file in messages.
[[nodiscard]] toml::table parse_toml(const std::string& text, const std::string& name,
                                     const std::string& what);

}  // namespace penstock

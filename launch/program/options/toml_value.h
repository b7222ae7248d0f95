// launch/program/options/toml_value.h -- parses TOML, and turns its nodes into values of options
// and into texts for messages. Includes toml++, so only what reads TOML files includes this.
#pragma once

#include <toml++/toml.h>

#include <optional>
#include <string>

#include "launch/program/options/option_table.h"

namespace penstock {

// The node as a value of the option's type; nothing when it has another type.
[[nodiscard]] std::optional<OptionValue> value_of(const toml::node& node, const Option& option);

// A node as the user may have written it, short enough for a message of one line.
[[nodiscard]] std::string excerpt(const toml::node& node);

// The text as a TOML string, quotes included, on one line.
[[nodiscard]] std::string toml_string(const std::string& text);

// Parses the text of a file. Throws Error(Input) naming file and line for what is no TOML, or
// nested too deeply. In messages `what` says what kind of file it is, "run file", and `name` which.
[[nodiscard]] toml::table parse_toml(const std::string& text, const std::string& name,
                                     const std::string& what);

}  // namespace penstock

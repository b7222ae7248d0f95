// launch/program/options/toml_value.h -- parses TOML with errors that name file and line, and turns
// its nodes into values of options and into texts for messages. It includes toml++, which is a
// large library, so only what reads TOML files includes this.
#pragma once

#include <toml++/toml.h>

#include <optional>
#include <string>

#include "launch/program/options/option_table.h"

namespace penstock {

// The node as a value of the option's type; nothing when it has another type.
[[nodiscard]] std::optional<OptionValue> value_of(const toml::node& node, const Option& option);

// The node about as the user wrote it, cut to fit into a message of one line.
[[nodiscard]] std::string excerpt(const toml::node& node);

// The value as TOML, on one line: texts with quotes and escapes, doubles in the shortest form that
// reads back to the same double (toml++ would write 17 digits), with a decimal point or exponent.
[[nodiscard]] std::string toml_text(const OptionValue& value);

// Parses the text of a file. Throws Error(Input) naming file and line where it is not TOML or is
// nested too deeply. In messages `what` is the kind of file, "run file", and `name` its name.
[[nodiscard]] toml::table parse_toml(const std::string& text, const std::string& name,
                                     const std::string& what);

}  // namespace penstock

// launch/program/help/flag.h -- flag(): makes a command-line option that needs no value, such as
// `--json`. A value may still be given: `--json=true`, `--json=0`.
#pragma once

#include <boost/program_options.hpp>

namespace penstock {

// The value of an option that sets `value` when it is given and leaves it when it is not. `value`
// must outlive the parsing.
[[nodiscard]] inline boost::program_options::typed_value<bool>* flag(bool& value) {
  return boost::program_options::value(&value)->implicit_value(true, "");
}

// Whether this option may stand without a value.
[[nodiscard]] inline bool is_flag(const boost::program_options::option_description& option) {
  return option.semantic()->min_tokens() == 0;
}

}  // namespace penstock

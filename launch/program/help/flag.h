// launch/program/help/flag.h -- flag(): an option that is true when it is given as `--json`; since
// every option may have a value, `--json=true` and `--json=0` are allowed too.
#pragma once

#include <boost/program_options.hpp>

namespace penstock {

// An option that sets `value`, which stays as it is where the option is not given.
[[nodiscard]] inline boost::program_options::typed_value<bool>* flag(bool& value) {
  return boost::program_options::value(&value)->implicit_value(true, "");
}

// Whether an option of a command may stand without a value.
[[nodiscard]] inline bool is_flag(const boost::program_options::option_description& option) {
  return option.semantic()->min_tokens() == 0;
}

}  // namespace penstock

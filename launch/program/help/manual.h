// launch/program/help/manual.h -- the table of commands for other programs: man and bash.
#pragma once

#include <string>

namespace penstock {

[[nodiscard]] std::string manual_page();      // penstock(1), for man (troff)
[[nodiscard]] std::string bash_completion();  // to be sourced

}  // namespace penstock

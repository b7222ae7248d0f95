// launch/program/help/manual.h -- the manual page and bash's completion, made from the table of
// commands.
#pragma once

#include <string>

namespace penstock {

[[nodiscard]] std::string manual_page();      // penstock(1), for man (troff)
[[nodiscard]] std::string bash_completion();  // a script that bash sources

}  // namespace penstock

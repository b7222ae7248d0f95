// launch/program/options/help.h -- what --help prints.
#pragma once

#include <string>

namespace penstock {

[[nodiscard]] std::string general_help();
[[nodiscard]] std::string train_help();  // every option, by section, with shorthand and default
[[nodiscard]] std::string eval_help();
[[nodiscard]] std::string translate_help();
[[nodiscard]] std::string generate_help();
[[nodiscard]] std::string profile_help();
[[nodiscard]] std::string info_help();

}  // namespace penstock

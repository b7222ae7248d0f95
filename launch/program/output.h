// launch/program/output.h -- what a command answers, on standard output, with every write checked.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace penstock {

// Hands the text to the system before it returns. Throws Error(Resource) where that takes it no
// longer: a full disk, a closed pipe.
void write_answer(std::string_view text);

template <class... Values>
void answer(fmt::format_string<Values...> format, Values&&... values) {
  write_answer(fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace penstock

// runtime/data/jinja/dates.h -- the date that a template takes for today's.
#pragma once

#include <string>

#include "runtime/data/jinja/value.h"

namespace penstock::jinja {

inline constexpr const char* kToday = "strftime_now";  // the function that templates call

// Gives them that function. Throws Error(Input) naming data.date where this is no date,
// "2024-07-26".
void set_today(Map& names, const std::string& date);

// What the function, as templates find it, makes of the format: what Python's strftime() writes in
// English. Throws Error(Input) where there is no such function, and for forms that are not
// supported, such as times of day.
[[nodiscard]] std::string written_today(const Value& function, const std::string& format);

}  // namespace penstock::jinja

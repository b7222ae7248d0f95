// runtime/data/templates/values/dates.h -- the date that a template takes for today's.
#pragma once

#include <string>

namespace penstock::jinja {

inline constexpr const char* kToday = "strftime_now";  // the function that templates call

// Throws Error(Input) naming data.date where this is no date, "2024-07-26".
void check_date(const std::string& date);

// What Python's strftime() writes of the date in English. Throws Error(Input) where there is no
// date (empty), and for forms that are not supported, such as times of day.
[[nodiscard]] std::string written_date(const std::string& date, const std::string& format);

}  // namespace penstock::jinja

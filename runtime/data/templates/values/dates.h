// runtime/data/templates/values/dates.h -- the date that a chat template takes for today's
// (data.date), and the function strftime_now() by which templates write it.
#pragma once

#include <string>

namespace penstock::jinja {

inline constexpr const char* kToday = "strftime_now";  // the name of that function

// Throws Error(Input) naming data.date if `date` is no date written like "2024-07-26".
void check_date(const std::string& date);

// What Python's strftime() writes of the date in English, for a `format` like "%d %B %Y". Throws
// Error(Input) if `date` is empty (not known), and for parts of a format that are not supported,
// such as times of day.
[[nodiscard]] std::string written_date(const std::string& date, const std::string& format);

}  // namespace penstock::jinja

#include "runtime/data/templates/values/dates.h"

#include <array>
#include <chrono>
#include <string_view>

#include "kernels/error.h"
#include "runtime/system/files/json.h"

namespace penstock::jinja {
namespace {

using std::chrono::year_month_day;

constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};

std::string digits(unsigned number, size_t width) {
  std::string text = std::to_string(number);
  return std::string(width - std::min(width, text.size()), '0') + text;
}

year_month_day parsed(const std::string& date) {
  const bool formed = date.size() == 10 && date[4] == '-' && date[7] == '-' &&
                      date.find_first_not_of("0123456789-") == std::string::npos;
  const auto number = [&](size_t at, size_t length) {
    unsigned value = 0;
    for (size_t i = at; i < at + length; ++i) value = 10 * value + unsigned(date[i] - '0');
    return value;
  };
  if (formed && date.find('-', 8) == std::string::npos && date.find('-') == 4) {
    const year_month_day day(std::chrono::year(static_cast<int>(number(0, 4))),
                             std::chrono::month(number(5, 2)), std::chrono::day(number(8, 2)));
    if (day.ok() && date.find('-', 5) == 7) return day;
  }
  fail_input("data.date = " + penstock::quoted(date) + " is no date: write it as 2024-07-26");
}

std::string part_of_date(const year_month_day& date, char what) {
  const std::chrono::sys_days day(date);
  const std::string_view month = kMonths[unsigned(date.month()) - 1];
  const std::string_view weekday = kDays[std::chrono::weekday(day).c_encoding()];
  const auto year = static_cast<unsigned>(static_cast<int>(date.year()));
  switch (what) {
    case 'd':
      return digits(unsigned(date.day()), 2);
    case 'm':
      return digits(unsigned(date.month()), 2);
    case 'Y':
      return digits(year, 4);
    case 'y':
      return digits(year % 100, 2);
    case 'B':
      return std::string(month);
    case 'b':
      return std::string(month.substr(0, 3));
    case 'A':
      return std::string(weekday);
    case 'a':
      return std::string(weekday.substr(0, 3));
    case '%':
      return "%";
    default:
      fail_input(std::string("the chat template writes today's date with \"%") + what +
                 "\", which is not supported");
  }
}

}  // namespace

void check_date(const std::string& date) {
  (void)parsed(date);
}

std::string written_date(const std::string& date, const std::string& format) {
  if (date.empty()) {
    fail_input(
        "the chat template writes today's date (strftime_now), which no two runs would share: say "
        "which day it is by data.date, such as 2024-07-26");
  }
  const year_month_day day = parsed(date);
  std::string text;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      text += format[i];
    } else {
      ++i;
      text += part_of_date(day, i < format.size() ? format[i] : ' ');
    }
  }
  return text;
}

}  // namespace penstock::jinja

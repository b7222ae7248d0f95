// runtime/records/telemetry/units.cpp -- see units.h.
#include "runtime/records/telemetry/units.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <cmath>

namespace penstock {
namespace {

// Removes a minus sign that says nothing: that of zero ("-0.0"), and that of "-nan".
std::string without_idle_sign(const std::string& number) {
  const bool is_idle = number.starts_with("-") &&
                       (number.find_first_of("123456789") == std::string::npos) && number != "-inf";
  return is_idle ? number.substr(1) : number;
}

// Returns the value with two decimals below 10, with one below 100, and without decimals from 100
// on.
std::string three_digits(double value) {
  if (!std::isfinite(value)) return without_idle_sign(fmt::format("{}", value));
  const double size = std::abs(value);
  return without_idle_sign(fmt::format("{:.{}f}", value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0));
}

template <size_t N>
std::string scaled(double value, double base, const std::array<const char*, N>& units) {
  size_t unit = 0;
  // The larger unit is also taken if the number only rounds up to it. Otherwise 999.5 would be
  // printed as 1000 of the smaller unit.
  while (unit + 1 < N && std::isfinite(value) && std::abs(value) >= base - base / 2000) {
    value /= base;
    ++unit;
  }
  const std::string number = unit == 0 ? fmt::format("{:.0f}", value) : three_digits(value);
  return units[unit][0] == '\0' ? number : number + " " + units[unit];
}

}  // namespace

std::string bytes_text(int64_t bytes) {
  return scaled(static_cast<double>(bytes), 1024.0,
                std::array{"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string count_text(double count) {
  if (std::abs(count) < 99.95 && count != std::floor(count)) return three_digits(count);
  return scaled(count, 1000.0, std::array{"", "k", "M", "G", "T"});
}

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  const int64_t minutes = (whole + 30) / 60;
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

std::string milliseconds_text(double ms) {
  return three_digits(ms) + " ms";
}

std::string percent_text(double share) {
  return without_idle_sign(fmt::format("{:.1f}", 100 * share)) + " %";
}

std::string loss_text(double loss) {
  return without_idle_sign(fmt::format("{:.4f}", loss));
}

std::string time_of_day_text() {
  return fmt::format("{:%H:%M:%S}", fmt::localtime(std::time(nullptr)));
}

}  // namespace penstock

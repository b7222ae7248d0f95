// launch/program/options/parse_bytes.cpp -- see parse_bytes.h.
#include "launch/program/options/parse_bytes.h"

#include <charconv>
#include <cmath>

#include "kernels/error.h"

namespace penstock {

int64_t parse_bytes(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  struct Unit {
    const char* name;
    double bytes;
  };
  constexpr Unit kUnits[] = {{"", 1},         {"B", 1},        {"KB", 1e3},    {"kB", 1e3},
                             {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},   {"KiB", 0x1p10},
                             {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  for (const Unit& known : kUnits) {
    const double bytes = number * known.bytes;
    if (error == std::errc() && unit == known.name && bytes >= 1 && bytes < 0x1p62) {
      return std::llround(bytes);
    }
  }
  fail_input("an amount of memory is written 80GiB, 16GB or in plain bytes, not " + text);
}

}  // namespace penstock

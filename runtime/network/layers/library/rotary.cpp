#include "runtime/network/layers/library/rotary.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace penstock {
namespace {

double llama3_speed(const RotaryOptions& options, double speed) {
  const double turns = static_cast<double>(options.original) * speed / (2.0 * std::numbers::pi);
  if (turns < options.low) return speed / options.factor;
  if (turns > options.high) return speed;
  const double share = (turns - options.low) / (options.high - options.low);
  return (1.0 - share) * speed / options.factor + share * speed;
}

}  // namespace

std::string rotary_name(const RotaryOptions& options, int64_t depth) {
  std::string name = "rotary " + std::to_string(static_cast<int>(options.scaling)) + " " +
                     std::to_string(options.original) + " " + std::to_string(depth);
  for (const double number : {options.base, options.factor, options.low, options.high}) {
    name += " " + std::to_string(std::bit_cast<uint64_t>(number));
  }
  return name;
}

std::vector<double> rotary_speeds(const RotaryOptions& options, int64_t depth) {
  std::vector<double> speeds;
  for (int64_t pair = 0; pair < depth / 2; ++pair) {
    const double exponent = 2.0 * static_cast<double>(pair) / static_cast<double>(depth);
    const double speed = std::pow(options.base, -exponent);
    switch (options.scaling) {
      case RotaryOptions::Scaling::None:
        speeds.push_back(speed);
        break;
      case RotaryOptions::Scaling::Linear:
        speeds.push_back(speed / options.factor);
        break;
      case RotaryOptions::Scaling::Llama3:
        speeds.push_back(llama3_speed(options, speed));
        break;
    }
  }
  return speeds;
}

std::vector<float> rotary_table(const RotaryOptions& options, int64_t places, int64_t depth) {
  const std::vector<double> speeds = rotary_speeds(options, depth);
  std::vector<float> table;
  table.reserve(static_cast<size_t>(places * depth));
  for (int64_t place = 0; place < places; ++place) {
    for (const double speed : speeds) {
      table.push_back(static_cast<float>(std::cos(static_cast<double>(place) * speed)));
    }
    for (const double speed : speeds) {
      table.push_back(static_cast<float>(std::sin(static_cast<double>(place) * speed)));
    }
  }
  return table;
}

}  // namespace penstock

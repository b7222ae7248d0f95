#include "runtime/network/layers/library/rotary.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace penstock {
namespace {

using Scaling = RotaryOptions::Scaling;

double llama3_speed(const RotaryOptions& options, double speed) {
  const double turns = static_cast<double>(options.original) * speed / (2.0 * std::numbers::pi);
  if (turns < options.low) return speed / options.factor;
  if (turns > options.high) return speed;
  const double share = (turns - options.low) / (options.high - options.low);
  return (1.0 - share) * speed / options.factor + share * speed;
}

// The number of the pair, with a fraction, that turns round so many times in `original` places.
double pair_with_turns(const RotaryOptions& options, double turns, double depth) {
  const double places = static_cast<double>(options.original) / (turns * 2.0 * std::numbers::pi);
  return depth * std::log(places) / (2.0 * std::log(options.base));
}

// The share of a pair's speed that is divided by the factor goes from 0 at the last pair that turns
// `high` times to 1 at the first that turns `low` times; without truncate from and to the places
// between pairs where such a one would be.
double yarn_speed(const RotaryOptions& options, double speed, double pair, double depth) {
  double quick = pair_with_turns(options, options.high, depth);
  double slow = pair_with_turns(options, options.low, depth);
  if (options.truncate) {
    quick = std::floor(quick);
    slow = std::ceil(slow);
  }
  quick = std::max(quick, 0.0);
  slow = std::min(slow, depth - 1.0);
  if (slow == quick) slow += 0.001;
  const double share = std::clamp((pair - quick) / (slow - quick), 0.0, 1.0);
  return share * speed / options.factor + (1.0 - share) * speed;
}

// The base with which no pair of a context that has grown turns round less often than before.
double dynamic_base(const RotaryOptions& options, double depth) {
  const auto original = static_cast<double>(options.original);
  const double context = std::max(static_cast<double>(options.context), original);
  const double growth = options.factor * context / original - (options.factor - 1.0);
  return options.base * std::pow(growth, depth / (depth - 2.0));
}

const std::vector<double>& longrope_factors(const RotaryOptions& options) {
  return options.context > options.original ? options.long_factors : options.short_factors;
}

}  // namespace

std::string rotary_trouble(const RotaryOptions& options, int64_t depth) {
  if (options.scaling == Scaling::Dynamic && depth < 4) {
    return "dynamic rotary positions need at least 4 elements of a head";
  }
  if (options.scaling != Scaling::Longrope) return {};
  for (const auto* factors : {&options.short_factors, &options.long_factors}) {
    if (std::ssize(*factors) == depth / 2) continue;
    const char* const key =
        factors == &options.short_factors ? "model.rotary_short" : "model.rotary_long";
    return std::string(key) + " has " + std::to_string(factors->size()) + " factors for " +
           std::to_string(depth / 2) + " pairs that rotary positions turn: give one for each";
  }
  return {};
}

std::string rotary_name(const RotaryOptions& options, int64_t depth) {
  std::string name = "rotary " + std::to_string(static_cast<int>(options.scaling)) + " " +
                     std::to_string(options.original) + " " + std::to_string(options.context) +
                     " " + std::to_string(depth);
  std::vector<double> numbers = {
      options.base, options.factor,           options.low,
      options.high, options.attention_factor, options.truncate ? 1.0 : 0.0};
  for (const auto* factors : {&options.short_factors, &options.long_factors}) {
    numbers.insert(numbers.end(), factors->begin(), factors->end());
  }
  for (const double number : numbers) {
    name += " " + std::to_string(std::bit_cast<uint64_t>(number));
  }
  return name;
}

std::vector<double> rotary_speeds(const RotaryOptions& options, int64_t depth) {
  const auto elements = static_cast<double>(depth);
  const double base =
      options.scaling == Scaling::Dynamic ? dynamic_base(options, elements) : options.base;
  std::vector<double> speeds;
  for (int64_t i = 0; i < depth / 2; ++i) {
    const auto pair = static_cast<double>(i);
    const double speed = std::pow(base, -(2.0 * pair / elements));
    switch (options.scaling) {
      case Scaling::None:
      case Scaling::Dynamic:
        speeds.push_back(speed);
        break;
      case Scaling::Linear:
        speeds.push_back(speed / options.factor);
        break;
      case Scaling::Llama3:
        speeds.push_back(llama3_speed(options, speed));
        break;
      case Scaling::Yarn:
        speeds.push_back(yarn_speed(options, speed, pair, elements));
        break;
      case Scaling::Longrope:
        speeds.push_back(speed / longrope_factors(options)[static_cast<size_t>(i)]);
        break;
    }
  }
  return speeds;
}

double rotary_attention_factor(const RotaryOptions& options) {
  const bool has = options.scaling == Scaling::Yarn || options.scaling == Scaling::Longrope;
  if (!has) return 1.0;
  if (options.attention_factor > 0.0) return options.attention_factor;
  if (options.factor <= 1.0) return 1.0;
  const double growth = std::log(options.factor);
  if (options.scaling == Scaling::Yarn) return 0.1 * growth + 1.0;
  return std::sqrt(1.0 + growth / std::log(static_cast<double>(options.original)));
}

std::vector<float> rotary_table(const RotaryOptions& options, int64_t places, int64_t depth) {
  const std::vector<double> speeds = rotary_speeds(options, depth);
  const double factor = rotary_attention_factor(options);
  std::vector<float> table;
  table.reserve(static_cast<size_t>(places * depth));
  for (int64_t place = 0; place < places; ++place) {
    for (const double speed : speeds) {
      table.push_back(static_cast<float>(factor * std::cos(static_cast<double>(place) * speed)));
    }
    for (const double speed : speeds) {
      table.push_back(static_cast<float>(factor * std::sin(static_cast<double>(place) * speed)));
    }
  }
  return table;
}

}  // namespace penstock

#include "runtime/records/sweep/plots/chart_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

template <class Visit>
void for_each_dot(const Chart& chart, Visit visit) {
  for (const ChartCurve& curve : chart.curves) {
    for (const ChartDot& dot : curve.line) visit(dot);
    for (const ChartDot& dot : curve.dots) visit(dot);
  }
}

// 1, 2 or 5 times a power of ten, at least `rough`.
double round_step(double rough) {
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * 0.999) return factor * power;
  }
  return 10 * power;
}

std::vector<double> even_ticks(double high) {
  constexpr int kAbout = 5;
  const double step = round_step(high / kAbout);
  std::vector<double> ticks;
  for (int i = 0; i * step <= high * 1.0001; ++i) ticks.push_back(i * step);
  return ticks;
}

std::vector<double> log_ticks(double low, double high) {
  std::vector<double> ticks;
  const bool is_wide = high / low > 300;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * power;
      if ((factor == 1 || !is_wide) && tick >= low && tick <= high) ticks.push_back(tick);
    }
  }
  return ticks;
}

// Leaves ticks that are at least a twelfth of the axis apart; the greatest stays.
void thin(AxisScale& scale) {
  constexpr double kLeast = 1.0 / 12;
  std::vector<double> kept;
  for (auto tick = scale.ticks.rbegin(); tick != scale.ticks.rend(); ++tick) {
    if (kept.empty() || scale.share(kept.back()) - scale.share(*tick) >= kLeast) {
      kept.push_back(*tick);
    }
  }
  scale.ticks.assign(kept.rbegin(), kept.rend());
}

}  // namespace

double AxisScale::share(double value) const {
  if (is_log) return std::log(value / low) / std::log(high / low);
  return (value - low) / (high - low);
}

AxisScale x_scale(const Chart& chart) {
  AxisScale scale;
  for_each_dot(chart, [&](const ChartDot& dot) { scale.ticks.push_back(dot.x); });
  std::sort(scale.ticks.begin(), scale.ticks.end());
  scale.ticks.erase(std::unique(scale.ticks.begin(), scale.ticks.end()), scale.ticks.end());
  if (scale.ticks.empty()) scale.ticks = {1};
  const double first = scale.ticks.front();
  const double last = scale.ticks.back();
  scale.is_log = chart.log_x.value_or(first > 0 && last > 8 * first);
  if (scale.is_log && last > first) {
    scale.low = first / std::pow(last / first, 0.04);
    scale.high = last * std::pow(last / first, 0.04);
  } else {
    const double alone = first > 0 ? 0.5 * first : 0.5;
    const double room = last > first ? 0.06 * (last - first) : alone;
    scale.low = first - room;
    scale.high = last + room;
  }
  thin(scale);
  return scale;
}

AxisScale y_scale(const Chart& chart, bool is_log) {
  double least = HUGE_VAL;
  double most = 0;
  for_each_dot(chart, [&](const ChartDot& dot) {
    if (dot.y > 0) least = std::min(least, dot.y);
    most = std::max({most, dot.y, dot.high});
  });
  AxisScale scale;
  if (most <= 0) least = most = 1;
  scale.is_log = is_log;
  scale.low = is_log ? least / 1.25 : 0;
  scale.high = is_log ? most * 1.25 : most * 1.06;
  scale.ticks = is_log ? log_ticks(scale.low, scale.high) : even_ticks(scale.high);
  return scale;
}

std::string tick_text(double value, bool is_share) {
  if (is_share) return fmt::format("{:.4g} %", 100 * value);
  if (value >= 1e6) return fmt::format("{:.4g} M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:.4g} k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

}  // namespace penstock

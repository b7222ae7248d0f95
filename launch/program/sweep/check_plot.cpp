#include "launch/program/sweep/check_plot.h"

#include <fmt/format.h>

#include <set>

#include "kernels/error.h"
#include "runtime/records/sweep/plots/chart.h"
#include "runtime/records/sweep/plots/plot_values.h"

namespace penstock {
namespace {

[[noreturn]] void refuse_plot(const SweepFile& sweep, const char* key, const std::string& value,
                              const std::string& why) {
  const std::string name = std::string("plot.") + key;
  fail_input(fmt::format("{}: '{}' is '{}', {}", sweep.place_of(name), name, value, why));
}

}  // namespace

void check_plot(const SweepFile& sweep, const SweepRecord& record) {
  const PlotChoice& plot = sweep.plot;
  std::set<std::string> series;
  for (const SweepPoint& point : record.points) {
    if (!plot_value(point, plot.x)) {
      refuse_plot(sweep, "x", plot.x, "which the grid does not vary: list its values in [grid]");
    }
    const std::optional<double> x = plot_number(point, plot.x);
    if (!x) {
      refuse_plot(
          sweep, "x", plot.x,
          fmt::format("and '{}' is no number: choose another key for the axis, and this one for "
                      "plot.series",
                      *plot_value(point, plot.x)));
    }
    if (plot.log_x.value_or(false) && *x <= 0) {
      refuse_plot(
          sweep, "x", plot.x,
          fmt::format("and {} has no place on a logarithmic axis: leave plot.log_x out", *x));
    }
    if (plot.series.empty()) continue;
    const std::optional<std::string> value = plot_value(point, plot.series);
    if (!value) {
      refuse_plot(sweep, "series", plot.series,
                  "which the grid does not vary: list its values in [grid]");
    }
    series.insert(*value);
  }
  if (series.size() > kMostSeries) {
    refuse_plot(sweep, "series", plot.series,
                fmt::format("of which there are {} values; a plot tells {} apart", series.size(),
                            kMostSeries));
  }
}

}  // namespace penstock

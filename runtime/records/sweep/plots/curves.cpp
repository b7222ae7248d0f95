#include "runtime/records/sweep/plots/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/records/sweep/plots/plot_values.h"
#include "runtime/records/sweep/repeats.h"

namespace penstock {
namespace {

using Rows = std::vector<const ScalingRow*>;

// What the ideal of one network is reckoned from.
struct Anchor {
  int ranks = 0;  // 0: there is none
  double rate = 0;
  // What that promises at so many ranks.
  [[nodiscard]] double ideal(int at_ranks) const { return rate / ranks * at_ranks; }
};

// A rate of a point with the ends of its error bar.
struct Rate {
  double value = 0, low = 0, high = 0;
};

std::optional<Rate> measured_rate(const ScalingRow& row, ErrorBars bars) {
  if (finished_of(row.runs) == 0 || !row.samples_per_s) return std::nullopt;
  const StepTimes& times = *row.outcome.step_ms;
  const double samples = *row.samples_per_s * times.median;  // times 1000
  const double median = samples / times.median;
  if (bars == ErrorBars::None) return Rate{median, median, median};
  if (bars == ErrorBars::Quartiles)
    return Rate{median, samples / times.upper, samples / times.lower};
  const double mean = samples / times.mean;
  const double share = times.deviation / times.mean;
  return Rate{mean, mean * (1 - share), mean * (1 + share)};
}

std::optional<Rate> rate_of(const ScalingRow& row, CurveKind kind, ErrorBars bars) {
  if (row.outcome.state == PointState::Skipped) return std::nullopt;
  if (kind == CurveKind::Measured) return measured_rate(row, bars);
  const auto& planned = row.planned_samples_per_s;
  return planned ? std::optional(Rate{*planned, *planned, *planned}) : std::nullopt;
}

// The anchor of each group of comparable points (SweepPoint::group).
std::map<std::string, Anchor> anchors_of(const Rows& rows, ErrorBars bars) {
  std::map<std::string, Anchor> anchors;
  for (const CurveKind kind : {CurveKind::Measured, CurveKind::Planned}) {
    std::map<std::string, Anchor> found;
    for (const ScalingRow* row : rows) {
      const std::optional<Rate> rate = rate_of(*row, kind, bars);
      if (!rate) continue;
      const int ranks = row->point.sizes.ranks();
      Anchor& anchor = found[row->point.group];
      const bool is_better = anchor.ranks == 0 || ranks < anchor.ranks ||
                             (ranks == anchor.ranks && rate->value > anchor.rate);
      if (is_better) anchor = {.ranks = ranks, .rate = rate->value};
    }
    anchors.merge(found);  // keeps the measured ones
  }
  return anchors;
}

// The charts of the points of one plot_group().
class PlotDrawer {
 public:
  PlotDrawer(const Rows& rows, const PlotChoice& choice)
      : rows_(rows), choice_(choice), anchors_(anchors_of(rows, choice.bars)) {
    for (const ScalingRow* row : rows) {
      if (row->outcome.state == PointState::Skipped) continue;
      const std::string series = series_of(*row);
      if (std::find(series_.begin(), series_.end(), series) == series_.end()) {
        series_.push_back(series);
      }
    }
  }

  [[nodiscard]] Chart chart(bool is_share, const std::string& subtitle) const {
    Chart chart{.title = is_share ? "Efficiency: share of the ideal" : "Samples per second",
                .subtitle = subtitle,
                .x_title = axis_title(choice_.x),
                .y_title = is_share ? "efficiency (%)" : "throughput (samples/s)",
                .is_share = is_share,
                .log_x = choice_.log_x,
                .log_y = choice_.log_y};
    if (!choice_.series.empty()) {
      for (const std::string& value : series_) {
        chart.series.push_back(axis_title(choice_.series) + " " + value);
      }
    }
    chart.curves.push_back(ideal(is_share));
    for (size_t i = 0; i < series_.size(); ++i) {
      for (const CurveKind kind : {CurveKind::Planned, CurveKind::Measured}) {
        chart.curves.push_back(curve(kind, i, is_share));
      }
    }
    return chart;
  }

 private:
  [[nodiscard]] std::string series_of(const ScalingRow& row) const {
    return choice_.series.empty() ? "" : plot_value(row.point, choice_.series).value_or("");
  }

  [[nodiscard]] ChartCurve curve(CurveKind kind, size_t series, bool is_share) const {
    ChartCurve curve{.kind = kind, .series = series};
    std::map<double, std::pair<double, ChartDot>> best;  // by x: the highest rate, and its dot
    for (const ScalingRow* row : rows_) {
      const std::optional<double> x = plot_number(row->point, choice_.x);
      const std::optional<Rate> rate = rate_of(*row, kind, choice_.bars);
      if (!x || !rate || series_of(*row) != series_[series]) continue;
      const Anchor& anchor = anchors_.at(row->point.group);
      const double unit = is_share ? anchor.ideal(row->point.sizes.ranks()) : 1;
      const ChartDot dot{.x = *x,
                         .y = rate->value / unit,
                         .low = rate->low / unit,
                         .high = rate->high / unit,
                         .name = row->point.name};
      curve.dots.push_back(dot);
      auto& highest = best[*x];
      if (rate->value > highest.first) highest = {rate->value, dot};
    }
    for (const auto& [x, dot] : best) curve.line.push_back(dot.second);
    // A dot of the line is drawn once.
    std::erase_if(curve.dots, [&](const ChartDot& dot) {
      return std::any_of(curve.line.begin(), curve.line.end(),
                         [&](const ChartDot& other) { return other.name == dot.name; });
    });
    return curve;
  }

  [[nodiscard]] ChartCurve ideal(bool is_share) const {
    ChartCurve ideal{.kind = CurveKind::Ideal};
    std::set<double> all;
    for (const ScalingRow* row : rows_) {
      const std::optional<double> x = plot_number(row->point, choice_.x);
      if (x && row->outcome.state != PointState::Skipped) all.insert(*x);
    }
    if (all.empty() || anchors_.empty()) return ideal;
    if (is_share) {
      for (const double x : {*all.begin(), *all.rbegin()}) ideal.line.push_back({.x = x, .y = 1});
    } else if (choice_.x == "ranks" && anchors_.size() == 1) {
      const Anchor& anchor = anchors_.begin()->second;
      for (const double x : {double(anchor.ranks), *all.rbegin()}) {
        ideal.line.push_back({.x = x, .y = anchor.ideal(static_cast<int>(x))});
      }
    }
    if (ideal.line.size() == 2 && ideal.line[0].x == ideal.line[1].x) ideal.line.pop_back();
    return ideal;
  }

  const Rows& rows_;
  const PlotChoice& choice_;
  std::map<std::string, Anchor> anchors_;  // by group
  std::vector<std::string> series_ = {};   // the values of the series, in the order of the rows
};

}  // namespace

std::vector<SweepPlot> sweep_plots(const std::vector<ScalingRow>& rows, const PlotChoice& choice,
                                   const std::string& about) {
  std::vector<std::string> order;
  std::map<std::string, Rows> groups;
  for (const ScalingRow& row : rows) {
    const std::string name = plot_group(row.point, choice);
    Rows& group = groups[name];
    if (group.empty()) order.push_back(name);
    group.push_back(&row);
  }
  std::vector<SweepPlot> plots;
  for (size_t i = 0; i < order.size(); ++i) {
    const std::string ending = i == 0 ? ".svg" : fmt::format("-{}.svg", i + 1);
    const std::string subtitle = about + (order[i].empty() ? "" : "; " + order[i]);
    const PlotDrawer drawer(groups[order[i]], choice);
    plots.push_back({"throughput" + ending, drawer.chart(false, subtitle)});
    plots.push_back({"efficiency" + ending, drawer.chart(true, subtitle)});
  }
  return plots;
}

}  // namespace penstock

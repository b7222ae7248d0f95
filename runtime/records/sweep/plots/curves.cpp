#include "runtime/records/sweep/plots/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runtime/records/sweep/repeats.h"

namespace penstock {
namespace {

// The known rates of the points of one group.
ChartCurve rates_of(CurveKind kind, const std::vector<const ScalingRow*>& rows,
                    std::optional<double> ScalingRow::*rate) {
  ChartCurve curve{.kind = kind};
  std::map<int, ChartDot> best;
  for (const ScalingRow* row : rows) {
    const bool is_whole = kind == CurveKind::Planned || finished_of(row->runs) > 0;
    if (!(row->*rate) || !is_whole || row->outcome.state == PointState::Skipped) continue;
    const int ranks = row->point.sizes.ranks();
    const ChartDot dot{
        .x = static_cast<double>(ranks), .y = *(row->*rate), .name = row->point.name};
    curve.dots.push_back(dot);
    ChartDot& highest = best[ranks];
    if (dot.y > highest.y) highest = dot;
  }
  for (const auto& [ranks, dot] : best) curve.line.push_back(dot);
  return curve;
}

// The ideal curve: what the first dot of `from.line` promises up to the most ranks that `others`
// have.
ChartCurve ideal_of(const ChartCurve& from, const std::vector<const ScalingRow*>& others) {
  ChartCurve ideal{.kind = CurveKind::Ideal};
  if (from.line.empty()) return ideal;
  const ChartDot& base = from.line.front();
  double most = base.x;
  for (const ScalingRow* row : others) {
    if (row->outcome.state == PointState::Skipped) continue;
    most = std::max(most, static_cast<double>(row->point.sizes.ranks()));
  }
  ideal.line.push_back(base);
  if (most > base.x) ideal.line.push_back({.x = most, .y = base.y * most / base.x});
  return ideal;
}

// Every dot as a share of what the line's first one promises at its number of ranks.
ChartCurve shares_of(const ChartCurve& rates) {
  ChartCurve shares = rates;
  if (rates.line.empty()) return shares;
  const double of_a_rank = rates.line.front().y / rates.line.front().x;
  for (ChartDot& dot : shares.line) dot.y /= of_a_rank * dot.x;
  for (ChartDot& dot : shares.dots) dot.y /= of_a_rank * dot.x;
  return shares;
}

// Removes dots that the line has, so that they are drawn once.
void leave_out_line(ChartCurve& curve) {
  std::erase_if(curve.dots, [&](const ChartDot& dot) {
    return std::any_of(curve.line.begin(), curve.line.end(),
                       [&](const ChartDot& other) { return other.name == dot.name; });
  });
}

std::vector<Chart> charts_of(const std::vector<const ScalingRow*>& rows, const std::string& about) {
  ChartCurve measured = rates_of(CurveKind::Measured, rows, &ScalingRow::samples_per_s);
  ChartCurve planned = rates_of(CurveKind::Planned, rows, &ScalingRow::planned_samples_per_s);
  leave_out_line(measured);
  leave_out_line(planned);
  const ChartCurve ideal = ideal_of(measured.line.empty() ? planned : measured, rows);
  const std::string& group = rows.front()->point.group;
  const std::string subtitle = about + (group.empty() ? "" : "; " + group);
  return {
      {.title = "Samples per second", .subtitle = subtitle, .curves = {ideal, planned, measured}},
      {.title = "Efficiency: share of the ideal",
       .subtitle = subtitle,
       .is_share = true,
       .curves = {shares_of(ideal), shares_of(planned), shares_of(measured)}}};
}

}  // namespace

std::vector<SweepPlot> sweep_plots(const std::vector<ScalingRow>& rows, const std::string& about) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const ScalingRow*>> groups;
  for (const ScalingRow& row : rows) {
    auto& group = groups[row.point.group];
    if (group.empty()) order.push_back(row.point.group);
    group.push_back(&row);
  }
  std::vector<SweepPlot> plots;
  for (size_t i = 0; i < order.size(); ++i) {
    const std::string ending = i == 0 ? ".svg" : fmt::format("-{}.svg", i + 1);
    const std::vector<Chart> charts = charts_of(groups[order[i]], about);
    plots.push_back({"throughput" + ending, charts[0]});
    plots.push_back({"efficiency" + ending, charts[1]});
  }
  return plots;
}

}  // namespace penstock

#include "runtime/records/sweep/plots/chart_head.h"

#include <fmt/format.h>

#include <array>
#include <sstream>
#include <string_view>
#include <vector>

#include "runtime/records/report/html.h"

namespace penstock {
namespace {

// A letter is at most about so wide, since no font is at hand to measure by.
constexpr double kLetter = 8.2;
constexpr double kSubtitleStep = 18;
constexpr double kLegendStep = 24;

// The text in lines of at most so many letters, broken at blanks; a longer word is cut.
std::vector<std::string> lines_of(const std::string& text, size_t most) {
  std::vector<std::string> lines = {""};
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    for (; word.size() > most; word.erase(0, most)) lines.push_back(word.substr(0, most));
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > most) lines.push_back("");
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  if (lines.front().empty() && lines.size() > 1) lines.erase(lines.begin());
  return lines;
}

struct LegendEntry {
  std::string sample;  // drawn at (0, 0), 34 wide
  std::string name;
};

// The kinds of curves, or where the chart has series their colours, too.
std::vector<LegendEntry> legend_entries(const Chart& chart) {
  std::vector<LegendEntry> entries;
  const bool has_series = !chart.series.empty();
  for (const CurveKind kind : {CurveKind::Ideal, CurveKind::Planned, CurveKind::Measured}) {
    for (const ChartCurve& curve : chart.curves) {
      if (curve.kind != kind) continue;
      std::string sample = fmt::format("<path class=\"line {}{}\" d=\"M0 0h34\"/>", word_of(kind),
                                       has_series ? " any" : "");
      if (!has_series && kind != CurveKind::Ideal) sample += mark_svg(chart, curve, "", 17, 0);
      entries.push_back({sample, word_of(kind)});
      break;
    }
  }
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const ChartCurve curve{.kind = CurveKind::Measured, .series = i};
    entries.push_back(
        {fmt::format("<path class=\"line {}\" d=\"M0 0h34\"/>", classes_of(chart, curve)) +
             mark_svg(chart, curve, "", 17, 0),
         chart.series[i]});
  }
  return entries;
}

}  // namespace

std::string classes_of(const Chart& chart, const ChartCurve& curve) {
  const char* kind = word_of(curve.kind);
  if (chart.series.empty() || curve.kind == CurveKind::Ideal) return kind;
  return fmt::format("{} s{}", kind, curve.series);
}

std::string mark_svg(const Chart& chart, const ChartCurve& curve, const std::string& more, double x,
                     double y) {
  // Circle, square, triangle and diamond; without series, planned points have the square.
  constexpr std::array<const char*, 4> kShapes = {"m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
                                                  "m-4.5-4.5h9v9h-9z", "m0-5.5l5.5 10h-11z",
                                                  "m0-6l6 6l-6 6l-6-6z"};
  const bool is_planned = curve.kind == CurveKind::Planned;
  const size_t shape = chart.series.empty() ? (is_planned ? 1 : 0) : curve.series % kShapes.size();
  return fmt::format("<path class=\"mark {}{}\" d=\"M{:.6g} {:.6g}{}\"/>", classes_of(chart, curve),
                     more, x, y, kShapes[shape]);
}

std::string head_svg(const Chart& chart, double left, double width, double& bottom) {
  constexpr double kMargin = 12;
  std::string out = fmt::format("<text class=\"title\" x=\"{}\" y=\"26\">{}</text>\n", kMargin,
                                escaped_html(chart.title));
  double y = 48;
  const auto most = static_cast<size_t>((width - 2 * kMargin) / kLetter);
  for (const std::string& line : lines_of(chart.subtitle, most)) {
    out += fmt::format("<text class=\"soft\" x=\"{}\" y=\"{}\">{}</text>\n", kMargin, y,
                       escaped_html(line));
    y += kSubtitleStep;
  }
  y += 4;  // the middle of the legend's first line
  double x = left;
  for (const LegendEntry& entry : legend_entries(chart)) {
    constexpr double kSample = 41;  // with the gap behind it
    constexpr double kGap = 23;
    const double wide = kSample + kLetter * static_cast<double>(entry.name.size());
    if (x > left && x + wide > width) {
      x = left;
      y += kLegendStep;
    }
    out += fmt::format(
        "<g transform=\"translate({:.6g} {:.6g})\">{}<text x=\"{}\" y=\"5\">{}</text></g>\n", x, y,
        entry.sample, kSample, escaped_html(entry.name));
    x += wide + kGap;
  }
  bottom = y + 22;
  return out;
}

}  // namespace penstock

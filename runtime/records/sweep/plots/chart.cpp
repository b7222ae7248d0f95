#include "runtime/records/sweep/plots/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "runtime/records/report/html.h"
#include "runtime/records/sweep/plots/chart_axes.h"
#include "runtime/records/sweep/plots/chart_head.h"

namespace penstock {
namespace {

// The picture is narrow so that it stays readable on a phone: at 360 pixels, letters of 15 become
// 11.
constexpr double kWidth = 480;
constexpr double kAxesHeight = 256;
constexpr double kLeft = 84;
constexpr double kRight = 16;
constexpr double kBottom = 52;

// Colours are literal: what draws pictures for papers (librsvg, Inkscape) knows no variables.
constexpr const char* kStyle = R"(<style>
svg { font: 15px system-ui, sans-serif; }
.paper { fill: #ffffff; }
text { fill: #1d2730; }
.title { font-size: 18px; font-weight: 600; }
.soft { fill: #586672; }
.grid { stroke: #dde3e8; }
.line { fill: none; stroke-width: 2.5; stroke-linejoin: round; }
.ideal { stroke: #7a8791; stroke-dasharray: 3 5; }
.planned { stroke: #1f6fd1; stroke-dasharray: 9 5; }
.measured { stroke: #c2410c; }
.mark { stroke-width: 2; }
.mark.planned { fill: none; stroke-dasharray: none; }
.mark.measured { fill: #c2410c; }
.bar { fill: none; stroke-width: 1.5; }
.beside { opacity: .5; }
@media (prefers-color-scheme: dark) {
  .paper { fill: #14181d; }
  text { fill: #dfe6ec; }
  .soft { fill: #9aa8b4; }
  .grid { stroke: #2b333b; }
  .ideal { stroke: #8b98a3; }
  .planned { stroke: #6aa9f4; }
  .measured { stroke: #f59e5b; }
  .mark.measured { fill: #f59e5b; }
}
</style>
)";

// The colours of series: those of Okabe and Ito, which most colour-blind people tell apart, the
// light ones darkened for white paper.
constexpr const char* kSeriesColours[kMostSeries][2] = {
    {"#c2410c", "#f59e5b"}, {"#0072b2", "#6aa9f4"}, {"#00805e", "#3fd1a8"}, {"#a3478a", "#e39acb"},
    {"#8a6d00", "#e6c84a"}, {"#2b8fc4", "#8ccff2"}, {"#5b4fb0", "#b0a6f5"}, {"#5f6b76", "#b9c4cd"}};

std::string series_style(size_t count) {
  if (count == 0) return "";
  std::string light = ".line.any { stroke: #586672; }\n";
  std::string dark;
  for (size_t i = 0; i < count; ++i) {
    const auto rules = [i](const char* colour) {
      return fmt::format(".s{0} {{ stroke: {1}; }} .mark.measured.s{0} {{ fill: {1}; }}\n", i,
                         colour);
    };
    light += rules(kSeriesColours[i][0]);
    dark += rules(kSeriesColours[i][1]);
  }
  return fmt::format(
      "<style>\n{}@media (prefers-color-scheme: dark) {{\n.line.any {{ stroke: #9aa8b4; "
      "}}\n{}}}\n</style>\n",
      light, dark);
}

struct Paper {
  AxisScale x = {}, y = {};
  double top = 0;  // where the axes begin
  [[nodiscard]] double bottom() const { return top + kAxesHeight; }
  [[nodiscard]] double left_of(double value) const {
    return kLeft + (kWidth - kLeft - kRight) * x.share(value);
  }
  // A value below the axis, such as the end of an error bar on a logarithmic one, is at its end.
  [[nodiscard]] double top_of(double value) const {
    return bottom() - kAxesHeight * y.share(std::max(value, y.low));
  }
};

void draw_titles(std::string& out, const Chart& chart, const Paper& paper) {
  out += fmt::format("<text class=\"soft\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                     (kLeft + kWidth - kRight) / 2, paper.bottom() + kBottom - 8,
                     escaped_html(chart.x_title));
  out += fmt::format(
      "<text class=\"soft\" transform=\"translate(17 {}) rotate(-90)\" "
      "text-anchor=\"middle\">{}</text>\n",
      paper.top + kAxesHeight / 2, escaped_html(chart.y_title));
}

void draw_axes(std::string& out, const Chart& chart, const Paper& paper) {
  auto to = std::back_inserter(out);
  for (const double tick : paper.y.ticks) {
    const double top = paper.top_of(tick);
    fmt::format_to(to,
                   "<path class=\"grid\" d=\"M{} {:.6g}H{}\"/><text class=\"soft\" x=\"{}\" "
                   "y=\"{:.6g}\" text-anchor=\"end\">{}</text>\n",
                   kLeft, top, kWidth - kRight, kLeft - 8, top + 5,
                   tick_text(tick, chart.is_share));
  }
  const double bottom = paper.bottom();
  for (const double tick : paper.x.ticks) {
    const double left = paper.left_of(tick);
    fmt::format_to(to,
                   "<path class=\"grid\" d=\"M{:.6g} {}V{}\"/><text class=\"soft\" x=\"{:.6g}\" "
                   "y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                   left, bottom, bottom + 6, left, bottom + 22, tick_text(tick, false));
  }
}

void draw_bar(std::string& out, const Chart& chart, const Paper& paper, const ChartCurve& curve,
              const ChartDot& dot) {
  if (!(dot.low < dot.high)) return;
  const double left = paper.left_of(dot.x);
  out += fmt::format("<path class=\"bar {}\" d=\"M{:.6g} {:.6g}h8m-4 0V{:.6g}m-4 0h8\"/>",
                     classes_of(chart, curve), left - 4, paper.top_of(dot.low),
                     paper.top_of(dot.high));
}

void draw_dots(std::string& out, const Chart& chart, const Paper& paper, const ChartCurve& curve,
               const std::string& more, const std::vector<ChartDot>& dots) {
  for (const ChartDot& dot : dots) {
    out += "<g>";
    draw_bar(out, chart, paper, curve, dot);
    out += mark_svg(chart, curve, more, paper.left_of(dot.x), paper.top_of(dot.y));
    out += fmt::format("<title>{}, {}: {}</title></g>\n", escaped_html(dot.name),
                       word_of(curve.kind), tick_text(dot.y, chart.is_share));
  }
}

void draw_curve(std::string& out, const Chart& chart, const Paper& paper, const ChartCurve& curve) {
  std::string path;
  for (const ChartDot& dot : curve.line) {
    path += fmt::format("{}{:.6g} {:.6g}", path.empty() ? "M" : "L", paper.left_of(dot.x),
                        paper.top_of(dot.y));
  }
  out += fmt::format("<path class=\"line {}\" d=\"{}\"/>\n", classes_of(chart, curve), path);
  if (curve.kind == CurveKind::Ideal) return;
  draw_dots(out, chart, paper, curve, " beside", curve.dots);
  draw_dots(out, chart, paper, curve, "", curve.line);
}

}  // namespace

const char* word_of(CurveKind kind) {
  switch (kind) {
    case CurveKind::Ideal:
      return "ideal";
    case CurveKind::Planned:
      return "planned";
    default:
      return "measured";
  }
}

std::string chart_svg(const Chart& chart) {
  Chart drawn = chart;
  std::erase_if(drawn.curves,
                [](const ChartCurve& curve) { return curve.line.empty() && curve.dots.empty(); });
  Paper paper{.x = x_scale(drawn)};
  paper.y = y_scale(drawn, !drawn.is_share && drawn.log_y.value_or(paper.x.is_log));
  const std::string head = head_svg(drawn, kLeft, kWidth, paper.top);
  const double height = paper.bottom() + kBottom;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\">\n"
      "<title>{}</title>\n{}{}<rect class=\"paper\" width=\"{}\" height=\"{}\"/>\n{}",
      kWidth, height, escaped_html(drawn.title), kStyle, series_style(drawn.series.size()), kWidth,
      height, head);
  draw_axes(out, drawn, paper);
  draw_titles(out, drawn, paper);
  for (const ChartCurve& curve : drawn.curves) draw_curve(out, drawn, paper, curve);
  return out + "</svg>\n";
}

}  // namespace penstock

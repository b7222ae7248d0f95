#include "runtime/records/sweep/plots/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "runtime/records/report/html.h"
#include "runtime/records/sweep/plots/chart_axes.h"

namespace penstock {
namespace {

// The picture is narrow so that it stays readable on a phone: at 360 pixels, letters of 15 become
// 11.
constexpr double kWidth = 480;
constexpr double kHeight = 400;
constexpr double kLeft = 66;
constexpr double kRight = 16;
constexpr double kTop = 92;
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

struct Paper {
  AxisScale x = {}, y = {};
  [[nodiscard]] double left_of(double value) const {
    return kLeft + (kWidth - kLeft - kRight) * x.share(value);
  }
  [[nodiscard]] double top_of(double value) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * y.share(value);
  }
};

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
  const double bottom = kHeight - kBottom;
  for (const double tick : paper.x.ticks) {
    const double left = paper.left_of(tick);
    fmt::format_to(to,
                   "<path class=\"grid\" d=\"M{:.6g} {}V{}\"/><text class=\"soft\" x=\"{:.6g}\" "
                   "y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                   left, bottom, bottom + 6, left, bottom + 22, tick_text(tick, false));
  }
  fmt::format_to(to, "<text class=\"soft\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">ranks</text>\n",
                 (kLeft + kWidth - kRight) / 2, kHeight - 8);
}

void draw_mark(std::string& out, const char* kind, const char* more, double x, double y) {
  auto to = std::back_inserter(out);
  if (std::string_view(kind) == word_of(CurveKind::Planned)) {
    fmt::format_to(to, R"(<rect class="mark {}{}" x="{:.6g}" y="{:.6g}" width="9" height="9"/>)",
                   kind, more, x - 4.5, y - 4.5);
  } else {
    fmt::format_to(to, R"(<circle class="mark {}{}" cx="{:.6g}" cy="{:.6g}" r="4.5"/>)", kind, more,
                   x, y);
  }
}

void draw_dots(std::string& out, const Paper& paper, const char* kind, const char* more,
               const std::vector<ChartDot>& dots, bool is_share) {
  for (const ChartDot& dot : dots) {
    out += "<g>";
    draw_mark(out, kind, more, paper.left_of(dot.x), paper.top_of(dot.y));
    out += fmt::format("<title>{}, {}: {}</title></g>\n", escaped_html(dot.name), kind,
                       tick_text(dot.y, is_share));
  }
}

void draw_curve(std::string& out, const Chart& chart, const Paper& paper, const ChartCurve& curve) {
  const char* kind = word_of(curve.kind);
  std::string path;
  for (const ChartDot& dot : curve.line) {
    path += fmt::format("{}{:.6g} {:.6g}", path.empty() ? "M" : "L", paper.left_of(dot.x),
                        paper.top_of(dot.y));
  }
  out += fmt::format("<path class=\"line {}\" d=\"{}\"/>\n", kind, path);
  if (curve.kind == CurveKind::Ideal) return;
  draw_dots(out, paper, kind, " beside", curve.dots, chart.is_share);
  draw_dots(out, paper, kind, "", curve.line, chart.is_share);
}

std::string legend(const std::vector<ChartCurve>& curves) {
  std::string out;
  double x = kLeft;
  for (const ChartCurve& curve : curves) {
    const char* kind = word_of(curve.kind);
    out += fmt::format("<path class=\"line {}\" d=\"M{} 70h34\"/>", kind, x);
    if (curve.kind != CurveKind::Ideal) draw_mark(out, kind, "", x + 17, 70);
    out += fmt::format("<text x=\"{}\" y=\"75\">{}</text>\n", x + 41, kind);
    x += 64 + 8.5 * static_cast<double>(std::string_view(kind).size());
  }
  return out;
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
  paper.y = y_scale(drawn, paper.x.is_log && !drawn.is_share);
  const std::string title = escaped_html(drawn.title);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\">\n"
      "<title>{}</title>\n{}<rect class=\"paper\" width=\"{}\" height=\"{}\"/>\n"
      "<text class=\"title\" x=\"12\" y=\"26\">{}</text>\n"
      "<text class=\"soft\" x=\"12\" y=\"48\">{}</text>\n",
      kWidth, kHeight, title, kStyle, kWidth, kHeight, title, escaped_html(drawn.subtitle));
  draw_axes(out, drawn, paper);
  for (const ChartCurve& curve : drawn.curves) draw_curve(out, drawn, paper, curve);
  return out + legend(drawn.curves) + "</svg>\n";
}

}  // namespace penstock

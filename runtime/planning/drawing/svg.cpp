// runtime/planning/drawing/svg.cpp -- see svg.h.
#include "runtime/planning/drawing/svg.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/replace.hpp>
#include <iterator>

namespace penstock {
namespace {

constexpr double kWidth = 1200;  // width of the picture; the viewer scales it
constexpr double kLeft = 76;     // where time begins, right of the ranks' names
constexpr double kRight = 12;
constexpr double kTop = 84;
constexpr double kDigit = 7;  // a little more than the width of a digit of a label

constexpr const char* kStyle = R"(<style>
svg { font: 12px system-ui, sans-serif; }
.paper { fill: #ffffff; }
text { fill: #1d2730; }
.title { font-size: 17px; font-weight: 600; }
.name { text-anchor: end; }
.lane { fill: #eef1f4; }
.box text { fill: #10202c; text-anchor: middle; font-size: 11px; }
.path { stroke: #c62828; stroke-width: 1.5; }
.F { fill: #8ab6f9; } .R { fill: #cbb2ef; } .I { fill: #7ed3b2; } .B { fill: #7ed3b2; } .W { fill: #f5c469; }
@media (prefers-color-scheme: dark) {
  .paper { fill: #14181d; }
  text { fill: #dfe6ec; }
  .lane { fill: #20262d; }
  .path { stroke: #ff8a80; }
}
</style>
)";

struct Layout {
  double scale;   // pixels per unit of time
  double pitch;   // pixels from row to row
  double height;  // pixels of a box
};

Layout layout_of(const ScheduleAnswer& answer, double time) {
  const double pitch = std::clamp(900.0 / answer.schedule.ranks, 8.0, 30.0);
  return {.scale = time > 0 ? (kWidth - kLeft - kRight) / time : 0,
          .pitch = pitch,
          .height = pitch > 14 ? pitch - 4 : pitch - 1};
}

// Returns the opacity of a stage's colour. It is 1 for each rank's first stage and falls to 0.5 for
// its last.
double strength(const Schedule& schedule, int stage) {
  const auto& rank_of = schedule.rank_of_stage;
  const auto chunks = std::ranges::count(rank_of, rank_of[stage]);
  const auto chunk = std::count(rank_of.begin(), rank_of.begin() + stage, rank_of[stage]);
  return chunks > 1 ? 1.0 - 0.5 * static_cast<double>(chunk) / static_cast<double>(chunks - 1)
                    : 1.0;
}

void draw_box(std::string& out, const Layout& layout, const ScheduleAnswer& answer,
              const TimedInstruction& span, double top) {
  const auto& [op, stage, micro_batch, peer] = span.instruction;
  const double width = (span.end - span.start) * layout.scale;
  const double left = kLeft + span.start * layout.scale;
  const double gap = width > 4 ? 1 : 0;
  const double opacity = strength(answer.schedule, stage);
  const bool limits = std::ranges::count(answer.path, span.instruction) > 0;
  auto to = std::back_inserter(out);
  fmt::format_to(to, R"(<rect class="{}" x="{:.6g}" y="{:.6g}" width="{:.4g}" height="{:.4g}")",
                 std::string(name_of(op)) + (limits ? " path" : ""), left, top, width - gap,
                 layout.height);
  if (opacity < 1) fmt::format_to(to, R"( fill-opacity="{:.2g}")", opacity);
  out += "/>\n";
  const std::string label = std::to_string(micro_batch);
  if (layout.height < 12 || width < kDigit * static_cast<double>(label.size()) + 2) return;
  fmt::format_to(to, R"(<text x="{:.6g}" y="{:.6g}">{}</text>)", left + (width - gap) / 2,
                 top + layout.height / 2 + 4, label);
  out += '\n';
}

void draw_rank(std::string& out, const Layout& layout, const ScheduleAnswer& answer, int rank,
               double top) {
  auto to = std::back_inserter(out);
  const int every = layout.pitch < 12 ? 4 : 1;  // if rows are low, every fourth has its name
  if (rank % every == 0) {
    fmt::format_to(to, "<text class=\"name\" x=\"{}\" y=\"{:.6g}\">rank {}</text>\n", kLeft - 8,
                   top + layout.height / 2 + 4, rank);
  }
  fmt::format_to(to,
                 "<g class=\"box\">\n<rect class=\"lane\" x=\"{}\" y=\"{:.6g}\" width=\"{}\" "
                 "height=\"{:.4g}\"/>\n",
                 kLeft, top, kWidth - kLeft - kRight, layout.height);
  for (const TimedInstruction& span : answer.timeline.rank[rank]) {
    if (is_compute(span.instruction.op) && span.end > span.start) {
      draw_box(out, layout, answer, span, top);
    }
  }
  out += "</g>\n";
}

// Returns whether some instruction of that kind takes time.
bool is_drawn(const Timeline& timeline, Op op) {
  return std::ranges::any_of(timeline.rank, [op](const auto& spans) {
    return std::ranges::any_of(spans, [op](const TimedInstruction& span) {
      return span.instruction.op == op && span.end > span.start;
    });
  });
}

std::string legend(const ScheduleAnswer& answer, double top) {
  constexpr std::array<std::pair<Op, const char*>, 5> kMeanings = {
      {{Op::Forward, "forward"},
       {Op::Recompute, "recompute"},
       {Op::Backward, "backward"},
       {Op::BackwardInput, "backward, input half"},
       {Op::BackwardWeight, "backward, weight half"}}};
  std::string out;
  double x = kLeft;
  for (const auto& [op, meaning] : kMeanings) {
    if (!is_drawn(answer.timeline, op)) continue;
    fmt::format_to(std::back_inserter(out),
                   "<rect class=\"{}\" x=\"{}\" y=\"{:.6g}\" width=\"14\" height=\"14\"/>"
                   "<text x=\"{}\" y=\"{:.6g}\">{}</text>\n",
                   name_of(op), x, top + 59, x + 19, top + 70, meaning);
    x += 40 + 6.5 * static_cast<double>(std::string_view(meaning).size());
  }
  if (answer.schedule.stages > answer.schedule.ranks) {
    fmt::format_to(std::back_inserter(out),
                   "<text x=\"{}\" y=\"{:.6g}\">paler: later stages</text>\n", x, top + 70);
    x += 140;
  }
  if (!answer.path.empty()) {
    fmt::format_to(std::back_inserter(out),
                   "<text x=\"{}\" y=\"{:.6g}\">outlined: the longest path</text>\n", x, top + 70);
  }
  return out;
}

// Returns the text with what XML would read as markup spelled out: a name may come from a file.
std::string escaped(const std::string& text) {
  return boost::replace_all_copy(boost::replace_all_copy(text, "&", "&amp;"), "<", "&lt;");
}

std::string peaks(const std::vector<int>& peak_stash) {
  constexpr size_t kShown = 16;
  if (peak_stash.size() <= kShown) return fmt::format("{}", fmt::join(peak_stash, " "));
  return fmt::format("at most {}", *std::ranges::max_element(peak_stash));
}

// Draws a schedule with its title, figures and legend, `top` pixels below the top of the picture.
void draw_schedule(std::string& out, const Layout& layout, const ScheduleAnswer& answer,
                   double top) {
  fmt::format_to(
      std::back_inserter(out),
      "<text class=\"title\" x=\"{}\" y=\"{:.6g}\">{}</text>\n"
      "<text x=\"{}\" y=\"{:.6g}\">makespan {:g}, bubble {:g} ({:.1f} %), peak stash {}</text>\n",
      kLeft, top + 26, escaped(title(answer)), kLeft, top + 47, makespan(answer.timeline),
      makespan_bubble(answer.timeline), 100 * bubble_share(answer.timeline),
      peaks(answer.peak_stash));
  out += legend(answer, top);
  for (int rank = 0; rank < answer.schedule.ranks; ++rank) {
    draw_rank(out, layout, answer, rank, top + kTop + rank * layout.pitch);
  }
}

}  // namespace

std::string svg(const ScheduleAnswer& answer, const ScheduleAnswer* beside) {
  const double time =
      std::max(makespan(answer.timeline), beside != nullptr ? makespan(beside->timeline) : 0.0);
  const Layout layout = layout_of(answer, time);
  const double height = kTop + answer.schedule.ranks * layout.pitch + 12;
  const double whole = beside != nullptr ? 2 * height : height;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {:.6g}\" role=\"img\">\n"
      "<title>{}</title>\n{}<rect class=\"paper\" width=\"{}\" height=\"{:.6g}\"/>\n",
      kWidth, whole, escaped(title(answer)), kStyle, kWidth, whole);
  draw_schedule(out, layout, answer, 0);
  if (beside != nullptr) draw_schedule(out, layout, *beside, height);
  return out + "</svg>\n";
}

}  // namespace penstock

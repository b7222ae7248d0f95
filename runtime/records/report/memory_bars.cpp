#include <fmt/format.h>

#include <algorithm>

#include "runtime/records/report/html.h"
#include "runtime/records/report/page_bars.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

constexpr size_t kMostMemoryBars = 32;

// Returns the segments of a rank's bar. Widths have three decimals, since a segment may be much
// less than a percent.
std::string memory_bar(const RankFigures& rank, double most) {
  std::string bar;
  for (size_t i = 0; i < rank.peak_bytes.size(); ++i) {
    const auto bytes = static_cast<double>(rank.peak_bytes[i]);
    if (bytes <= 0) continue;
    bar += fmt::format("<span class=\"m{}\" style=\"width:{:.3f}%\" title=\"{}: {}\"></span>", i,
                       100 * bytes / most, kMemoryPurposes[i], bytes_text(rank.peak_bytes[i]));
  }
  return bar;
}

std::string memory_row(const RankFigures& rank, double most) {
  std::string predicted = "<span class=\"none\">no prediction</span>";
  std::string mark;
  if (rank.predicted_peak_bytes) {
    const auto bytes = static_cast<double>(*rank.predicted_peak_bytes);
    predicted = "predicted " + bytes_text(*rank.predicted_peak_bytes);
    mark = fmt::format(
        "<div class=\"bar thin\"><span class=\"predicted\" "
        "style=\"width:{:.3f}%\" title=\"predicted: {}\"></span></div>",
        100 * bytes / most, bytes_text(*rank.predicted_peak_bytes));
  }
  return fmt::format(
      "<div class=\"row\"><span class=\"who\">rank {}</span><div class=\"bars\"><div "
      "class=\"bar\">{}</div>{}</div><span class=\"what\"><b>{}</b> {}</span></div>\n",
      rank.rank, memory_bar(rank, most), mark, bytes_text(rank.total_peak_bytes), predicted);
}

// Returns how many bytes a bar must have room for: the measured peak, the predicted peak or the sum
// of the parts, whichever is largest. The peaks of the parts may fall at different times, so their
// sum may be above the measured peak.
double length_of_bar(const RankFigures& rank) {
  double parts = 0;
  for (const int64_t bytes : rank.peak_bytes) parts += static_cast<double>(bytes);
  return std::max({parts, static_cast<double>(rank.total_peak_bytes),
                   static_cast<double>(rank.predicted_peak_bytes.value_or(0)), 1.0});
}

std::string memory_legend() {
  std::string list = "<ul class=\"legend\">";
  for (size_t i = 0; i < std::size(kMemoryPurposes); ++i) {
    list += fmt::format("<li><span class=\"swatch m{}\"></span>{}</li>", i, kMemoryPurposes[i]);
  }
  return list + "<li><span class=\"swatch predicted\"></span>predicted total</li></ul>\n";
}

bool tells_bytes(const RecordedStep& step) {
  return std::ranges::any_of(step.processes, [](const RecordedProcess& part) {
    return std::ranges::any_of(part.ranks, [](const RecordedRank& rank) {
      return !rank.spans.empty() && rank.spans.front().bytes >= 0;
    });
  });
}

// Returns the frame in which memory.js draws the memory of the step that is chosen in the timeline.
// The text is empty if no trace tells bytes.
std::string memory_over_step(const RunFiles& files) {
  if (!std::ranges::any_of(files.trace, tells_bytes)) return {};
  return "<h3>Over the step</h3>\n<p>In use after each instruction of step <span "
         "id=\"memory-step\"></span>, which is chosen above; the dashed line is the prediction "
         "over its own length, which counts the workspace of operations as there all the "
         "time.</p>\n"
         "<div id=\"memory-curves\"></div>\n<p class=\"small\" id=\"memory-note\"></p>\n";
}

}  // namespace

std::string memory_section(const RunFiles& files, const RunFacts& facts) {
  std::string text = "<section id=\"memory\">\n<h2>Memory</h2>\n";
  text += older_attempt_note(facts.summary_attempt, files.attempts);
  if (facts.ranks.empty()) {
    return text +
           "<p class=\"none\">Known when an attempt ends: it stands in summary.json.</p>\n"
           "</section>\n";
  }
  std::vector<RankFigures> ranks = facts.ranks;
  const bool all = ranks.size() <= kMostMemoryBars;
  if (!all) {
    std::ranges::stable_sort(ranks, std::ranges::greater(), &RankFigures::total_peak_bytes);
    ranks.resize(kMostMemoryBars);
  }
  double most = 1;
  for (const RankFigures& rank : ranks) most = std::max(most, length_of_bar(rank));
  text +=
      "<p>The peak of each purpose, and beside it the peak of the total. Purposes have their "
      "peaks at different moments, so a bar may be longer than its total. The prediction is of "
      "the total alone.</p>\n";
  text += memory_legend() + "<div class=\"rows\">\n";
  for (const RankFigures& rank : ranks) text += memory_row(rank, most);
  text += "</div>\n";
  if (!all) {
    text += fmt::format("<p class=\"small\">The {} fullest of {} ranks.</p>\n", kMostMemoryBars,
                        facts.ranks.size());
  }
  return text + memory_over_step(files) + "</section>\n";
}

}  // namespace penstock

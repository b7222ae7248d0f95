#include "runtime/records/report/page_head.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/planning/schedule/text/recompute_text.h"
#include "runtime/records/report/html.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

constexpr size_t kMostRankRows = 256;

std::string number_or_unknown(const std::optional<int64_t>& number) {
  return number ? std::to_string(*number) : "?";
}

std::string known(const std::string& text) {
  return text.empty() ? "unknown" : text;
}

// Returns which steps a figure is from, for the line below the figure. The text is empty if the
// figure is from the whole run.
std::string whence(const RunFacts& facts) {
  return facts.from_summary ? "" : "of the last 100 steps";
}

std::string joined_words(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : "; ") + part;
  }
  return text;
}

std::string loss_tile(const RunFacts& facts) {
  if (!facts.loss) return {};
  const std::string value =
      std::isfinite(*facts.loss) ? fmt::format("{:.4f}", *facts.loss) : std::string("not finite");
  return figure_tile("Loss", value,
                     facts.eval_loss ? fmt::format("{:.4f} on validation data", *facts.eval_loss)
                                     : "of the last training step");
}

std::string rate_tile(const RunFacts& facts) {
  if (!facts.samples_per_s) return {};
  const std::string samples = count_text(*facts.samples_per_s);
  if (!facts.tokens_per_s) return figure_tile("Throughput, samples/s", samples, whence(facts));
  return figure_tile("Throughput, tokens/s", count_text(*facts.tokens_per_s),
                     joined_words({samples + " samples/s", whence(facts)}));
}

std::string step_tile(const RunFacts& facts) {
  if (!facts.step_ms_median) return {};
  std::vector<std::string> below = {"median"};
  if (facts.step_ms_p95)
    below.push_back("95th percentile " + milliseconds_text(*facts.step_ms_p95));
  if (facts.step_ms_predicted) {
    below.push_back("predicted " + milliseconds_text(*facts.step_ms_predicted));
  }
  below.push_back(whence(facts));
  return figure_tile("Step time", milliseconds_text(*facts.step_ms_median), joined_words(below));
}

std::string of_older_attempt(const RunFacts& facts, int64_t attempts) {
  return facts.summary_attempt < attempts ? fmt::format("of attempt {}", facts.summary_attempt)
                                          : std::string();
}

std::string bubble_tile(const RunFacts& facts, int64_t attempts) {
  if (!facts.bubble_measured) return {};
  return figure_tile(
      "Bubble", percent_text(*facts.bubble_measured),
      joined_words(
          {facts.bubble_predicted ? "predicted " + percent_text(*facts.bubble_predicted) : "",
           of_older_attempt(facts, attempts)}));
}

std::string memory_tile(const RunFacts& facts, int64_t attempts) {
  const auto fullest = std::ranges::max_element(
      facts.ranks, {}, [](const RankFigures& rank) { return rank.total_peak_bytes; });
  if (fullest == facts.ranks.end()) return {};
  return figure_tile("Peak memory", bytes_text(fullest->total_peak_bytes),
                     joined_words({fmt::format("rank {}, the fullest", fullest->rank),
                                   fullest->predicted_peak_bytes
                                       ? "predicted " + bytes_text(*fullest->predicted_peak_bytes)
                                       : "",
                                   of_older_attempt(facts, attempts)}));
}

std::string experts_tile(const RunFiles& files) {
  if (files.history.steps.empty()) return {};
  const StepPoint& last = files.history.steps.back();
  if (!std::isfinite(last.expert_load)) return {};
  return figure_tile(
      "Fullest expert", fmt::format("{:.2f} × the mean", last.expert_load),
      fmt::format("of the last step; {:.0f} experts had no token", last.idle_experts));
}

std::string steps_tile(const RunFiles& files, const RunFacts& facts) {
  std::string value = std::to_string(facts.steps_done);
  if (facts.steps_asked) value += " of " + std::to_string(*facts.steps_asked);
  const int64_t restarts = std::max<int64_t>(files.attempts - 1, 0);
  return figure_tile("Steps", value,
                     restarts == 0 ? "in one attempt"
                                   : fmt::format("{} attempts, {} restart{}", files.attempts,
                                                 restarts, restarts == 1 ? "" : "s"));
}

std::string state_sentence(const RunFiles& files, const RunFacts& facts) {
  switch (files.state) {
    case RunState::Running:
      return "It is held by " + files.holder +
             ". This page shows what it had written when the "
             "page was made.";
    case RunState::Finished:
      if (!facts.ended_early.empty()) return "It ended early: " + facts.ended_early + ".";
      return facts.dry_run ? "A dry run: nothing was trained." : "It went to its last step.";
    case RunState::Stopped:
      return "Its last attempt was stopped: " + facts.stopped + ". The same command goes on.";
    default:
      return "Its last attempt left no summary and no process holds the directory: it failed or "
             "was killed. The end of its log, below, may say why.";
  }
}

std::string time_text(int64_t seconds_since_1970) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}",
                     fmt::gmtime(static_cast<std::time_t>(seconds_since_1970)));
}

std::string fact_row(const char* name, const std::string& value) {
  return fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", name, escaped_html(value));
}

std::string facts_table(const RunFacts& facts) {
  std::string table = "<table class=\"facts\">\n";
  table += fact_row(
      "Network",
      known(facts.model) +
          (facts.parameters ? fmt::format(", {} parameters", *facts.parameters) : std::string()));
  table += fact_row("Layout",
                    fmt::format("K = {} stages × D = {} replicas, M = {} micro-batches of b = {} "
                                "samples each",
                                number_or_unknown(facts.stages), number_or_unknown(facts.replicas),
                                number_or_unknown(facts.micro_batches),
                                number_or_unknown(facts.micro_batch_size)));
  const std::string ahead =
      facts.warm_up.value_or(0) > 0 ? fmt::format(" with warm_up = {}", *facts.warm_up) : "";
  const std::vector<int64_t> kept = facts.kept_stages.value_or(std::vector<int64_t>());
  table += fact_row("Schedule", known(facts.schedule) + ahead + ", recompute " +
                                    recompute_text(known(facts.recompute), kept));
  table += fact_row("Device", joined_words({known(facts.device), facts.precision}));
  table += fact_row("Hosts", facts.hosts.empty() ? "not known before the run ends"
                             : facts.hosts.size() == 1
                                 ? "1: " + facts.hosts[0]
                                 : fmt::format("{}: {} … {}", facts.hosts.size(), facts.hosts[0],
                                               facts.hosts.back()));
  if (!facts.program.empty()) table += fact_row("Program", facts.program);
  if (!facts.started.empty()) table += fact_row("Started", facts.started);
  return table + "</table>\n";
}

}  // namespace

std::string headline(const RunFacts& facts) {
  return fmt::format("{}, {} × {} ranks", known(facts.model), number_or_unknown(facts.stages),
                     number_or_unknown(facts.replicas));
}

std::string head_section(const RunFiles& files, const RunFacts& facts) {
  std::string text = fmt::format(
      "<header>\n<p class=\"over\">Penstock run <code>{}</code></p>\n<h1>{} <span class=\"state "
      "{}\">{}</span></h1>\n<p>{}</p>\n<p class=\"small\" id=\"made\">Made at {} UTC; "
      "metrics.jsonl "
      "was last written at {}.</p>\n</header>\n",
      escaped_html(files.directory), escaped_html(known(facts.model)), word_of(files.state),
      word_of(files.state), escaped_html(state_sentence(files, facts)), time_text(files.read_at_s),
      time_text(files.last_write_s));
  text += "<dl id=\"figures\">\n" + steps_tile(files, facts) + loss_tile(facts) + rate_tile(facts) +
          step_tile(facts) + bubble_tile(facts, files.attempts) +
          memory_tile(facts, files.attempts) + experts_tile(files) + "</dl>\n";
  if (facts.attempt < files.attempts && facts.attempt > 0) {
    text += fmt::format(
        "<p class=\"small\">These are figures of attempt {}: attempt {} has not told its own "
        "yet.</p>\n",
        facts.attempt, files.attempts);
  }
  return text + facts_table(facts);
}

std::string attempts_section(const RunFiles& files) {
  std::string text =
      "<section id=\"attempts\">\n<h2>Attempts</h2>\n<div class=\"scroll\"><table>\n<thead><tr>"
      "<th>attempt</th><th>first step</th><th>last step</th><th>steps</th><th>done again "
      "later</th></tr></thead>\n";
  for (const AttemptSpan& span : files.history.attempts) {
    text += fmt::format(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        span.attempt, span.first_step, span.last_step, span.lines, span.replaced);
  }
  text += "</table></div>\n";
  const auto told = static_cast<int64_t>(files.history.attempts.size());
  if (files.attempts > told) {
    text += fmt::format("<p class=\"small\">{} more began and took no step.</p>\n",
                        files.attempts - told);
  }
  text += "<p class=\"small\">Of a step that several attempts did, the curves show the last.</p>\n";
  return text + "</section>\n";
}

std::string ranks_section(const RunFiles& files, const RunFacts& facts) {
  if (facts.ranks.empty()) return {};
  std::string text = "<section id=\"ranks\">\n<h2>Ranks</h2>\n" +
                     older_attempt_note(facts.summary_attempt, files.attempts) +
                     "<div class=\"scroll\"><table>\n<thead><tr>"
                     "<th>rank</th><th>stage</th><th>replica</th><th class=\"left\">host</th>"
                     "<th class=\"left\">layers</th><th>parameters</th><th>computing, share</th>"
                     "<th>data wait, ms a step</th></tr></thead>\n";
  const size_t shown = std::min(facts.ranks.size(), kMostRankRows);
  for (size_t i = 0; i < shown; ++i) {
    const RankFigures& rank = facts.ranks[i];
    text += fmt::format(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td class=\"left\">{}</td><td "
        "class=\"left\">{}</td><td>{}</td><td>{}</td><td>{:.2f}</td></tr>\n",
        rank.rank, rank.stage, rank.replica, escaped_html(rank.host), escaped_html(rank.layers),
        count_text(static_cast<double>(rank.parameters)), percent_text(rank.busy_fraction),
        rank.data_wait_ms);
  }
  text += "</table></div>\n";
  if (shown < facts.ranks.size()) {
    text += fmt::format("<p class=\"small\">The first {} of {} ranks; summary.json has all.</p>\n",
                        shown, facts.ranks.size());
  }
  return text + "</section>\n";
}

std::string files_section(const RunFiles& files) {
  std::string text = "<section id=\"files\">\n";
  if (!files.log.empty()) {
    text += "<h2>The end of the log</h2>\n<pre id=\"log\">";
    for (const std::string& line : files.log) text += escaped_html(line) + "\n";
    text += "</pre>\n";
  }
  if (!files.run_toml.empty()) {
    text += "<details><summary>The effective run file, run.toml</summary>\n<pre>" +
            escaped_html(files.run_toml) + "</pre></details>\n";
  }
  if (files.torn_line) {
    text +=
        "<p class=\"small\">The last line of metrics.jsonl was not complete yet, and is not "
        "shown.</p>\n";
  }
  return text + "</section>\n";
}

}  // namespace penstock

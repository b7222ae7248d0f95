#include "runtime/records/report/reading/run_facts.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>
#include <utility>

#include "kernels/error.h"
#include "kernels/parse_number.h"
#include "runtime/records/telemetry/quantile.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr size_t kRecentSteps = 100;

[[noreturn]] void refuse_member(const RunFiles& files, const std::string& key, const char* what) {
  fail_data(files.directory + "/summary.json: \"" + key + "\" is not " + what);
}

std::string text_in(const RunFiles& files, const json& parent, const char* key) {
  const auto found = parent.find(key);
  if (found == parent.end()) return {};
  if (!found->is_string()) refuse_member(files, key, "a text");
  return found->get<std::string>();
}

std::optional<double> figure_in(const RunFiles& files, const json& parent, const char* key) {
  const auto found = parent.find(key);
  if (found == parent.end() || found->is_null()) return std::nullopt;
  if (!found->is_number()) refuse_member(files, key, "a number");
  return found->get<double>();
}

std::optional<int64_t> count_in(const RunFiles& files, const json& parent, const char* key) {
  const auto found = parent.find(key);
  if (found == parent.end() || found->is_null()) return std::nullopt;
  if (!found->is_number_integer()) refuse_member(files, key, "a whole number");
  return found->get<int64_t>();
}

// Returns the figure `key` in the object `group` of the summary, or nothing if the summary has no
// such object.
std::optional<double> figure_below(const RunFiles& files, const char* group, const char* key) {
  const auto found = files.summary->find(group);
  if (found == files.summary->end()) return std::nullopt;
  if (!found->is_object()) refuse_member(files, group, "an object");
  return figure_in(files, *found, key);
}

RankFigures rank_in(const RunFiles& files, const json& detail) {
  if (!detail.is_object()) refuse_member(files, "ranks_detail", "a list of objects");
  RankFigures rank{.rank = count_in(files, detail, "rank").value_or(0),
                   .stage = count_in(files, detail, "stage").value_or(0),
                   .replica = count_in(files, detail, "replica").value_or(0),
                   .parameters = count_in(files, detail, "parameters").value_or(0),
                   .host = text_in(files, detail, "host"),
                   .device = text_in(files, detail, "device"),
                   .layers = text_in(files, detail, "layers"),
                   .busy_fraction = figure_in(files, detail, "busy_fraction").value_or(0),
                   .data_wait_ms = figure_in(files, detail, "data_wait_ms").value_or(0)};
  const auto peaks = detail.find("peak_bytes");
  if (peaks == detail.end() || !peaks->is_object()) refuse_member(files, "peak_bytes", "an object");
  for (const char* purpose : kMemoryPurposes) {
    rank.peak_bytes.push_back(count_in(files, *peaks, purpose).value_or(0));
  }
  const int64_t snapshot = count_in(files, detail, "snapshot_bytes").value_or(0);
  rank.peak_bytes.back() = rank.device.starts_with("cpu") ? snapshot : 0;
  rank.total_peak_bytes = count_in(files, *peaks, "total").value_or(0);
  rank.predicted_peak_bytes = count_in(files, detail, "predicted_peak_bytes");
  return rank;
}

void add_ranks(const RunFiles& files, RunFacts& facts) {
  const auto ranks = files.summary->find("ranks_detail");
  if (ranks == files.summary->end()) return;
  if (!ranks->is_array()) refuse_member(files, "ranks_detail", "a list");
  for (const json& detail : *ranks) facts.ranks.push_back(rank_in(files, detail));
  for (const RankFigures& rank : facts.ranks) {
    if (!rank.host.empty()) facts.hosts.push_back(rank.host);
  }
  std::sort(facts.hosts.begin(), facts.hosts.end());
  facts.hosts.erase(std::unique(facts.hosts.begin(), facts.hosts.end()), facts.hosts.end());
}

void add_figures(const RunFiles& files, RunFacts& facts) {
  const json& summary = *files.summary;
  facts.from_summary = true;
  facts.attempt = facts.summary_attempt = count_in(files, summary, "attempt").value_or(1);
  facts.stopped = text_in(files, summary, "stopped");
  facts.ended_early = text_in(files, summary, "ended_early");
  facts.loss = figure_in(files, summary, "final_loss");
  facts.eval_loss = figure_below(files, "final_eval", "loss");
  facts.samples_per_s = figure_in(files, summary, "samples_per_s");
  facts.tokens_per_s = figure_in(files, summary, "tokens_per_s");
  facts.mfu = figure_in(files, summary, "mfu");
  facts.step_ms_median = figure_below(files, "step_ms", "median");
  facts.step_ms_p95 = figure_below(files, "step_ms", "p95");
  facts.step_ms_predicted = figure_below(files, "step_ms", "predicted");
  facts.bubble_measured = figure_below(files, "bubble", "measured");
  facts.bubble_predicted = figure_below(files, "bubble", "predicted");
}

// Returns the texts of a list, joined by `between`, or an empty text if there is no list.
std::string texts_in(const RunFiles& files, const json& parent, const char* key,
                     const char* between) {
  const auto found = parent.find(key);
  if (found == parent.end()) return {};
  if (!found->is_array()) refuse_member(files, key, "a list");
  std::string all;
  for (const json& text : *found) {
    if (!text.is_string()) refuse_member(files, key, "a list of texts");
    all += (all.empty() ? "" : between) + text.get<std::string>();
  }
  return all;
}

bool is_whole_numbers(const json& list) {
  return list.is_array() && std::ranges::all_of(list, &json::is_number_integer);
}

// Returns the whole numbers of a list, which is empty if there is none.
std::vector<int64_t> numbers_in(const RunFiles& files, const json& parent, const char* key) {
  const json list = parent.value(key, json::array());
  if (!is_whole_numbers(list)) refuse_member(files, key, "a list of whole numbers");
  return list.get<std::vector<int64_t>>();
}

void add_start(const RunFiles& files, RunFacts& facts) {
  const auto start = files.summary->find("start");
  if (start == files.summary->end()) return;  // older runs lack it
  if (!start->is_object()) refuse_member(files, "start", "an object");
  facts.program = text_in(files, *start, "program") + ": " + text_in(files, *start, "build") +
                  "; " + texts_in(files, *start, "libraries", ", ");
  facts.started = text_in(files, *start, "date") + ": " + texts_in(files, *start, "command", " ");
}

// Returns the quantile of the finite values, computed as for the summary, or nothing if no value is
// finite.
std::optional<double> quantile_of(std::vector<double> values, double share) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return std::nullopt;
  return quantile(std::move(values), share);
}

void add_recent_figures(const History& history, RunFacts& facts) {
  facts.from_summary = false;
  if (!history.evals.empty()) facts.eval_loss = history.evals.back().loss;
  if (history.steps.empty()) return;
  facts.attempt = history.steps.back().attempt;
  facts.loss = history.steps.back().loss;
  std::vector<double> times;
  std::vector<double> samples;
  std::vector<double> tokens;
  const size_t count = std::min(history.steps.size(), kRecentSteps);
  for (size_t i = history.steps.size() - count; i < history.steps.size(); ++i) {
    times.push_back(history.steps[i].step_ms);
    samples.push_back(history.steps[i].samples_per_s);
    tokens.push_back(history.steps[i].tokens_per_s);
  }
  facts.step_ms_median = quantile_of(times, 0.5);
  facts.step_ms_p95 = quantile_of(times, 0.95);
  facts.samples_per_s = quantile_of(samples, 0.5);
  facts.tokens_per_s = quantile_of(tokens, 0.5);
}

void add_description(const RunFiles& files, RunFacts& facts) {
  const json& summary = *files.summary;
  add_start(files, facts);
  facts.model = text_in(files, summary, "model");
  facts.schedule = text_in(files, summary, "schedule");
  facts.recompute = text_in(files, summary, "recompute");
  facts.kept_stages = numbers_in(files, summary, "kept_stages");
  facts.device = text_in(files, summary, "device");
  facts.precision = text_in(files, summary, "precision");
  facts.stages = count_in(files, summary, "stages");
  facts.replicas = count_in(files, summary, "replicas");
  facts.micro_batches = count_in(files, summary, "micro_batches");
  facts.micro_batch_size = count_in(files, summary, "micro_batch_size");
  facts.warm_up = count_in(files, summary, "warm_up").value_or(0);
  facts.parameters = count_in(files, summary, "parameters");
  const auto dry = summary.find("dry_run");
  facts.dry_run = dry != summary.end() && dry->is_boolean() && dry->get<bool>();
}

void add_keys(const std::map<std::string, std::string>& keys, RunFacts& facts) {
  const auto text = [&](const char* key, std::string& to) {
    const auto found = keys.find(key);
    if (found != keys.end() && to.empty()) to = found->second;
  };
  const auto count = [&](const char* key, std::optional<int64_t>& to) {
    const auto found = keys.find(key);
    if (found != keys.end() && !to) to = parse_number<int64_t>(found->second);
  };
  text("model.kind", facts.model);
  text("pipeline.schedule", facts.schedule);
  text("pipeline.recompute", facts.recompute);
  text("run.device", facts.device);
  text("run.precision", facts.precision);
  count("pipeline.stages", facts.stages);
  count("pipeline.replicas", facts.replicas);
  count("pipeline.micro_batches", facts.micro_batches);
  count("pipeline.micro_batch_size", facts.micro_batch_size);
  count("pipeline.warm_up", facts.warm_up);
  count("run.steps", facts.steps_asked);
  const auto kept = keys.find("pipeline.kept_stages");
  if (kept != keys.end() && !facts.kept_stages) {
    const json list = json::parse(kept->second, nullptr, false);  // TOML's "[0, 2]" is JSON, too
    if (is_whole_numbers(list)) facts.kept_stages = list.get<std::vector<int64_t>>();
  }
}

}  // namespace

std::map<std::string, std::string> keys_of_run_file(const std::string& text) {
  std::map<std::string, std::string> keys;
  std::string section;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('[') && !line.starts_with("[[") && line.ends_with(']')) {
      section = line.substr(1, line.size() - 2);
    }
    const size_t at = line.find(" = ");
    if (at == std::string::npos || line.starts_with('#')) continue;
    std::string value = line.substr(at + 3);
    const bool is_quoted = value.size() >= 2 && (value[0] == '\'' || value[0] == '"');
    if (is_quoted && value.back() == value[0]) value = value.substr(1, value.size() - 2);
    keys[section + "." + line.substr(0, at)] = value;
  }
  return keys;
}

RunFacts facts_of(const RunFiles& files) {
  RunFacts facts;
  if (files.summary) add_description(files, facts);
  add_keys(keys_of_run_file(files.run_toml), facts);
  if (files.total_steps > 0) facts.steps_asked = files.total_steps;
  if (!files.history.steps.empty()) facts.steps_done = files.history.steps.back().step;
  if (!files.summary) {
    add_recent_figures(files.history, facts);
    return facts;
  }
  add_ranks(files, facts);
  add_figures(files, facts);
  if (facts.attempt < files.attempts) {
    // The summary is from an earlier attempt. Its memory and bubble stay; the metrics are newer,
    // and what they tell replaces the other figures.
    const int64_t attempt = facts.attempt;
    add_recent_figures(files.history, facts);
    facts.attempt = std::max(attempt, facts.attempt);
    facts.stopped.clear();
  }
  return facts;
}

}  // namespace penstock

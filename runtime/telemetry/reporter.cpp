// runtime/telemetry/reporter.cpp -- which record goes where. How it looks is live_line,
// closing_table and json_records.
#include "runtime/telemetry/reporter.h"

#include <utility>

#include "runtime/files/draft_file.h"
#include "runtime/telemetry/closing_table.h"
#include "runtime/telemetry/json_records.h"
#include "runtime/telemetry/live_line.h"
#include "runtime/telemetry/output_file.h"

namespace penstock {

struct Reporter::State {
  explicit State(Options given)
      : options(std::move(given)),
        metrics(options.directory + "/metrics.jsonl", TornLine::IsRemoved),
        log(options.directory + "/log.txt", TornLine::IsEnded) {}

  void say(const std::string& lines) {
    log.write_line(lines);
    terminal.print(lines);
  }
  [[nodiscard]] bool is_logged(int64_t step) const {
    return step == 1 || step == options.total_steps || step % options.log_every == 0;
  }

  Options options;
  LineFile metrics;
  LineFile log;
  Terminal terminal;
  StepClock clock;
};

Reporter::Reporter(Options options) : state_(std::make_unique<State>(std::move(options))) {
  if (state_->options.log_every < 1) state_->options.log_every = 1;
}
Reporter::~Reporter() = default;

void Reporter::note(const std::string& line) {
  state_->say(line);
}

void Reporter::note(const std::string& shown, const std::string& logged) {
  state_->log.write_line(logged);
  state_->terminal.print(shown);
}

void Reporter::step(const StepRecord& record) {
  State& s = *state_;
  StepRecord numbered = record;
  numbered.attempt = s.options.attempt;
  s.metrics.write_line(json_line(numbered, s.options.tokens));
  s.clock.add(record);
  const double average_ms = s.clock.average_ms();
  if (s.is_logged(record.step)) {
    const std::string line = step_text(record, s.options.total_steps, average_ms, s.options.tokens);
    s.log.write_line(line);
    if (!s.terminal.live()) s.terminal.print(line);
  }
  if (s.terminal.due()) {
    s.terminal.show(live_text(record, s.options.total_steps, average_ms, s.options.tokens,
                              s.terminal.width() - 1));
  }
}

void Reporter::evaluated(const EvalRecord& record) {
  EvalRecord numbered = record;
  numbered.attempt = state_->options.attempt;
  state_->metrics.write_line(json_line(numbered));
  state_->say(eval_text(record));
}

void Reporter::traced(const Trace& trace) {
  replace_file(state_->options.directory + "/trace.json", trace_json(trace));
}

void Reporter::finished(const RunSummary& summary) {
  RunSummary numbered = summary;
  numbered.attempt = state_->options.attempt;
  replace_file(state_->options.directory + "/summary.json", json_text(numbered) + "\n");
  state_->say(closing_table(summary));
}

}  // namespace penstock

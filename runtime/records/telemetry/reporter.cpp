// runtime/records/telemetry/reporter.cpp -- which record goes where. How it looks is live_line,
// closing_table and json_records.
#include "runtime/records/telemetry/reporter.h"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/plain_text.h"
#include "runtime/records/telemetry/closing_table.h"
#include "runtime/records/telemetry/formats/event_file.h"
#include "runtime/records/telemetry/json_records.h"
#include "runtime/records/telemetry/live_line.h"
#include "runtime/records/telemetry/output_file.h"
#include "runtime/records/telemetry/units.h"
#include "runtime/system/files/atomic_file.h"

namespace penstock {

namespace {

std::vector<EventScalar> scalars_of(const StepRecord& record, bool tokens) {
  const double per_count = 1e3 / record.step_ms;
  std::vector<EventScalar> scalars = {
      {"train/loss", record.loss},
      {"train/gradient_norm", record.grad_norm},
      {"train/learning_rate", record.learning_rate},
      {"train/samples_per_s", static_cast<double>(record.samples) * per_count},
      {"train/step_ms", record.step_ms},
  };
  if (tokens) {
    scalars.push_back({"train/tokens_per_s", static_cast<double>(record.tokens) * per_count});
  }
  if (record.accuracy) scalars.push_back({"train/accuracy", *record.accuracy});
  if (record.auxiliary_loss) scalars.push_back({"train/auxiliary_loss", *record.auxiliary_loss});
  if (record.speed) scalars.push_back({"train/mfu", record.speed->mfu});
  if (const ExpertLoad* most = fullest(record.experts); most != nullptr) {
    scalars.push_back({"experts/largest", most->largest()});
    scalars.push_back({"experts/idle", static_cast<double>(idle_experts(record.experts))});
  }
  return scalars;
}

std::vector<EventScalar> scalars_of(const EvalRecord& record) {
  std::vector<EventScalar> scalars = {{"eval/loss", record.loss}};
  if (record.accuracy) scalars.push_back({"eval/accuracy", *record.accuracy});
  return scalars;
}

}  // namespace

struct Reporter::State {
  struct Files {
    explicit Files(const Options& options)
        : metrics(options.directory + "/metrics.jsonl", TornLine::IsRemoved),
          log(options.directory + "/log.txt", TornLine::IsEnded) {
      if (options.tensorboard) events.emplace(event_file_path(options.directory, options.attempt));
    }
    LineFile metrics;
    LineFile log;
    std::optional<EventFile> events;
  };

  explicit State(Options given) : options(std::move(given)) {}

  template <class File>  // LineFile or EventFile
  void look_after(File& file, const std::string& name) {
    if (!file.is_gone()) return;
    if (options.check_directory) options.check_directory();
    file.begin_anew();
    say(timed("warning: " + options.directory + "/" + name +
              " was removed or moved while the run goes on; it is begun anew"));
  }
  void write_log(const std::string& lines) {
    if (files) {
      look_after(files->log, "log.txt");
      files->log.write_line(plain_text(lines, true));  // no control characters: terminals show it
    } else {
      held.push_back(lines);
    }
  }
  void say(const std::string& lines) {
    write_log(lines);
    terminal.print(lines);
  }
  // Returns the line. Once the run has begun, the time of day is put before it.
  [[nodiscard]] std::string timed(const std::string& line) const {
    return has_begun ? time_of_day_text() + " " + line : line;
  }
  // Returns the time left, for example " | 2 min 49 s left", at most once a minute. Returns an
  // empty text in between, and if the time left is not known.
  std::string left_text(int64_t step) {
    const auto now = std::chrono::steady_clock::now();
    const double left_s =
        1e-3 * clock.average_ms() * static_cast<double>(options.total_steps - step);
    const bool due = !said_left || now - *said_left >= std::chrono::minutes(1);
    if (!due || !(left_s > 0.0)) return "";
    said_left = now;
    return " | " + seconds_text(left_s) + " left";
  }
  [[nodiscard]] bool is_logged(int64_t step) const {
    return step == 1 || step == options.total_steps || step % options.log_every == 0;
  }

  Options options;
  std::optional<Files> files;     // exists from open() on
  std::vector<std::string> held;  // lines of the log before open()
  Terminal terminal;
  StepClock clock;
  bool has_begun = false;  // whether a step has been taken
  std::optional<std::chrono::steady_clock::time_point> said_left = {};
};

Reporter::Reporter(Options options) : state_(std::make_unique<State>(std::move(options))) {
  if (state_->options.log_every < 1) state_->options.log_every = 1;
  state_->options.start.attempt = state_->options.attempt;
}
Reporter::~Reporter() = default;

void Reporter::open() {
  state_->files.emplace(state_->options);
  LineFile starts(state_->options.directory + "/starts.jsonl", TornLine::IsRemoved);
  starts.write_line(json_line(state_->options.start));
  for (const std::string& lines : std::exchange(state_->held, {})) state_->write_log(lines);
}

void Reporter::note(const std::string& line) {
  state_->say(state_->timed(line));
}

void Reporter::note(const std::string& shown, const std::string& logged) {
  state_->write_log(logged);
  state_->terminal.print(shown);
}

void Reporter::step(const StepRecord& record) {
  State& s = *state_;
  StepRecord numbered = record;
  numbered.attempt = s.options.attempt;
  s.look_after(s.files->metrics, "metrics.jsonl");
  s.files->metrics.write_line(json_line(numbered, s.options.tokens, s.options.expert_rows));
  if (std::optional<EventFile>& events = s.files->events) {
    s.look_after(*events, "tensorboard");
    if (!s.has_begun && record.step > 1) events->restart(record.step);
    events->add(record.step, scalars_of(record, s.options.tokens));
  }
  s.clock.add(record);
  s.has_begun = true;
  const double average_ms = s.clock.average_ms();
  if (s.is_logged(record.step)) {
    const std::string line =
        s.timed(step_text(record, s.options.total_steps, average_ms, s.options.tokens)) +
        s.left_text(record.step);
    s.write_log(line);
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
  State::Files& files = *state_->files;
  state_->look_after(files.metrics, "metrics.jsonl");
  files.metrics.write_line(json_line(numbered));
  state_->options.last_evaluation = numbered;
  if (files.events) {
    state_->look_after(*files.events, "tensorboard");
    files.events->add(record.step, scalars_of(record));
  }
  state_->say(state_->timed(eval_text(record)));
}

void Reporter::excluded(const std::string& hosts) {
  LineFile file(state_->options.directory + "/excluded_hosts", TornLine::IsEnded);
  file.write_line(hosts);
}

void Reporter::traced(const Trace& trace) {
  replace_file(state_->options.directory + "/trace.json", trace_json(trace));
}

void Reporter::finished(const RunSummary& summary) {
  RunSummary numbered = summary;
  numbered.attempt = state_->options.attempt;
  numbered.start = state_->options.start;
  numbered.final_eval = state_->options.last_evaluation;
  replace_file(state_->options.directory + "/summary.json", json_text(numbered) + "\n");
  state_->say(closing_table(numbered));
}

}  // namespace penstock

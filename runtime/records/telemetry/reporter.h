// runtime/records/telemetry/reporter.h -- Reporter: writes everything that a run reports while it
// trains: lines on the terminal, log.txt, metrics.jsonl, starts.jsonl, summary.json, trace.json and
// TensorBoard files. Only rank 0 has one.
//
// The order of calls: the constructor; note() at any time; open(), once the run directory is this
// run's; step(), evaluated() and excluded() as they happen; at the end traced() and finished(). An
// attempt is one start of a run; what earlier attempts have written to the directory stays.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/records/telemetry/records.h"
#include "runtime/records/telemetry/trace_json.h"

namespace penstock {

class Reporter {
 public:
  struct Options {
    std::string directory;     // the run directory
    int64_t attempt = 1;       // its number, which goes into metrics.jsonl
    int64_t total_steps = 0;   // of the whole run, for "step 120/2000"
    int64_t log_every = 10;    // steps between lines in the log
    bool tokens = false;       // report tokens/s besides samples/s
    bool tensorboard = false;  // write a TensorBoard event file, too
    bool expert_rows = false;  // write the rows of every expert to metrics.jsonl
    StartRecord start = {};    // of this attempt; its number is set here
    // Of earlier attempts, at the step after which this one goes on; null: there was none.
    std::optional<EvalRecord> last_evaluation = {};
    // Called when a file has disappeared from the directory. It should throw if the directory
    // itself has; if it returns, the file is made again.
    std::function<void()> check_directory = {};
  };
  // Opens no file. Until open(), notes go to the terminal and are kept in memory for log.txt.
  explicit Reporter(Options options);
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  // Opens the files for appending, and adds this start to starts.jsonl. Must be called once, before
  // all calls but note(); the directory must exist. This and the calls below throw Error(Resource)
  // if a file cannot be written.
  void open();
  // Writes a line to the terminal and to log.txt, with the time of day after the first step.
  void note(const std::string& line);
  // Writes `shown` to the terminal and `logged` to log.txt.
  void note(const std::string& shown, const std::string& logged);
  // Writes a step to metrics.jsonl and the event file, updates the live line and, every log_every
  // steps, writes a line to log.txt (and to the terminal if that has no live line).
  void step(const StepRecord& record);
  // Writes an evaluation to metrics.jsonl, the event file, the terminal and log.txt.
  void evaluated(const EvalRecord& record);
  // Appends names of hosts, one a line, whose hardware computed or kept wrong bits (docs/audits.md)
  // to the file excluded_hosts.
  void excluded(const std::string& hosts);
  // Writes trace.json, in place of an old one.
  void traced(const Trace& trace);
  // Writes summary.json, in place of an old one, and prints the closing table. Both have the last
  // evaluation, of this attempt or an earlier one, as summary.final_eval, which is not read.
  void finished(const RunSummary& summary);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock

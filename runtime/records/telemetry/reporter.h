// runtime/records/telemetry/reporter.h -- Reporter: what rank 0 tells the user: a live line, plain
// log lines, metrics.jsonl, summary.json, trace.json, event files and the closing table.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/records/telemetry/records.h"
#include "runtime/records/telemetry/trace_json.h"

namespace penstock {

class Reporter {
 public:
  struct Options {
    std::string directory;  // the run directory
    int64_t attempt = 1;    // of the run; what earlier attempts have written stays
    int64_t total_steps = 0;
    int64_t log_every = 10;    // steps between plain lines
    bool tokens = false;       // rates in tokens/s beside samples/s
    bool tensorboard = false;  // an event file as well (TensorBoard)
    // Called when a file of the directory is gone. Throws where the directory itself is gone; else
    // the file is begun anew.
    std::function<void()> check_directory = {};
  };
  // Until open() notes go to the terminal, and are held for the log file.
  explicit Reporter(Options options);
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  // Opens the files of the directory, which must exist. Called once, before all calls but note().
  // Throws Error(Resource). A file that is gone when it is written to is begun anew, with a note.
  void open();
  // A plain line to the terminal and the log file, with the time of day once steps are taken.
  void note(const std::string& line);
  void note(const std::string& shown, const std::string& logged);  // on the terminal; in the log
  void step(const StepRecord& record);       // metrics.jsonl, live line, event file
  void evaluated(const EvalRecord& record);  // metrics.jsonl, a plain line, event file
  // Writes hosts that computed or kept wrong bits, one a line, to excluded_hosts.
  void excluded(const std::string& hosts);
  void traced(const Trace& trace);           // trace.json
  void finished(const RunSummary& summary);  // summary.json, closing table
 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock

// runtime/records/report/reading/run_files.h -- read_run_files(): reads all files of a run
// directory that a report shows (docs/output.md lists them), whether the run is still going on or
// has ended.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/records/report/reading/history.h"
#include "runtime/records/report/reading/recorded_steps.h"

namespace penstock {

// How a run stands. An attempt is one start of the run; at its end it writes summary.json.
enum class RunState : uint8_t {
  Running,   // a living process holds the lock of the directory
  Finished,  // the last attempt did all its steps
  Stopped,   // the last attempt was asked to stop earlier (a signal, a time limit, a user)
  Ended,     // no process holds the lock, and the last attempt has no summary: it failed
};

// "running", "finished", "stopped", "failed"
[[nodiscard]] const char* word_of(RunState state);

struct RunFiles {
  std::string directory;  // the path that was given
  RunState state = RunState::Ended;
  std::string holder = {};    // while running: its host and process, for people; else empty
  int64_t attempts = 0;       // how many have begun
  int64_t total_steps = 0;    // of the whole run, by run.json; 0: that does not say
  int64_t read_at_s = 0;      // when the files were read, seconds since 1970
  int64_t last_write_s = 0;   // when metrics.jsonl last changed, seconds since 1970
  History history = {};       // the content of metrics.jsonl
  bool torn_line = false;     // metrics.jsonl ends with an incomplete line, which was ignored
  std::string run_toml = {};  // the text of run.toml; empty: there is none
  // The content of summary.json; null: there is none. It may be of an earlier attempt.
  std::optional<nlohmann::json> summary = {};
  std::vector<RecordedStep> trace = {};  // the content of trace.json; empty: there is none
  std::string trace_note = {};           // why trace.json was not read (too large), for the user
  std::vector<std::string> log = {};     // the last 40 lines of log.txt
};

// Changes nothing in the directory. Only metrics.jsonl must exist; the other files may be missing.
// Throws Error(Input) naming the directory if it is no run directory, Error(Data) naming file and
// line for a damaged file, Error(Resource) for a file that cannot be read.
[[nodiscard]] RunFiles read_run_files(const std::string& directory);

}  // namespace penstock

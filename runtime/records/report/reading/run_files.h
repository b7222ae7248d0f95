// runtime/records/report/reading/run_files.h -- RunFiles: all that a page shows of a run, read from
// its directory, whether the run goes on or has ended.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/records/report/reading/history.h"
#include "runtime/records/report/reading/recorded_steps.h"

namespace penstock {

enum class RunState : uint8_t {
  Running,   // a process that lives holds the directory
  Finished,  // the last attempt went to its end
  Stopped,   // the last attempt was asked to stop before its end
  Ended,     // nobody holds the directory, and the last attempt left no summary: it failed
};

// "running", "finished", "stopped", "failed"
[[nodiscard]] const char* word_of(RunState state);

struct RunFiles {
  std::string directory;  // as it was given
  RunState state = RunState::Ended;
  std::string holder = {};    // host and process of a run that goes on
  int64_t attempts = 0;       // begun
  int64_t read_at_s = 0;      // when this was read, seconds since 1970
  int64_t last_write_s = 0;   // when metrics.jsonl changed, seconds since 1970
  History history = {};       // of metrics.jsonl
  bool torn_line = false;     // metrics.jsonl ends in the middle of a line, which was passed over
  std::string run_toml = {};  // its text; empty where there is none
  std::optional<nlohmann::json> summary = {};  // of the attempt that it names
  std::vector<RecordedStep> trace = {};        // of trace.json; empty where there is none
  std::string trace_note = {};                 // why a trace that is there is not shown
  std::vector<std::string> log = {};           // the last lines of log.txt
};

// Reads only. Of these files, metrics.jsonl alone must be there. Throws Error(Input) naming the
// directory where it is none of a run, Error(Data) naming the file, and line where it has some, for
// a file that is damaged, Error(Resource) for one that cannot be read.
[[nodiscard]] RunFiles read_run_files(const std::string& directory);

}  // namespace penstock

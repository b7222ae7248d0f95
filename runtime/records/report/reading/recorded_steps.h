// runtime/records/report/reading/recorded_steps.h -- TraceReader: reads trace.json, in which a run
// records when each rank ran each instruction of a few steps, and returns these steps as measured
// and, beside them, as they were predicted.
//
// telemetry/trace_json.h writes the file, one event a line. Report pages draw the steps as
// timelines.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// One instruction of a rank, and when it ran.
struct RecordedSpan {
  // What `name` says. Its peer is set only for messages over skip connections, whose names have it.
  Instruction instruction = {};
  std::string name;                 // "F0.3": forward of stage 0, micro-batch 3
  double start_ms = 0, end_ms = 0;  // from the beginning of the trace
  int64_t bytes = -1;               // in use on the device after it; -1: not known
};

struct RecordedRank {
  std::string name;  // "rank 3 (position 1, replica 1)"
  int replica = 0;   // the number in that name
  // By ascending start, except ReduceGradients, which runs beside the others.
  std::vector<RecordedSpan> spans;
};

// A step as it ran, or as it was predicted.
struct RecordedProcess {
  std::string name;  // "measured" or "predicted"
  std::vector<RecordedRank> ranks;
};

struct RecordedStep {
  int64_t step = 0;
  std::vector<RecordedProcess> processes;  // in the order of the file; each name at most once
};

// Call add() for each line in the order of the file, then finish().
class TraceReader {
 public:
  // Takes a line without its newline. `where` is file and line, for messages. Throws Error(Data)
  // naming `where` for an event that cannot be read.
  void add(std::string_view line, const std::string& where);
  // Returns the steps in ascending order. Leaves the reader empty.
  [[nodiscard]] std::vector<RecordedStep> finish();

 private:
  // What was read of a "process" of the trace, which stands for a RecordedProcess.
  struct Process {
    std::string name;
    std::map<int, int> rank_of_thread;      // from metadata; a thread that is not here is a rank
    std::map<int, std::string> rank_names;  // by rank
    std::map<int64_t, std::map<int, std::vector<RecordedSpan>>> steps;  // by step, by rank
  };
  // Takes the metadata event that names a thread: it may say of which rank the thread is.
  static void name_thread(Process& process, int thread, const nlohmann::json& args,
                          const std::string& where);

  std::map<int, Process> processes_;  // by pid
};

}  // namespace penstock

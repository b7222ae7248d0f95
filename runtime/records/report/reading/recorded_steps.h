// runtime/records/report/reading/recorded_steps.h -- RecordedStep: the steps that trace.json holds,
// measured and predicted (trace_json.h writes it); TraceReader reads them.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

struct RecordedSpan {
  Instruction instruction = {};  // with a peer only where `name` tells one
  std::string name;              // "F0.3"
  double start_ms = 0, end_ms = 0;
  int64_t bytes = -1;  // in use on the device after it; -1: not known
};

struct RecordedRank {
  std::string name;                 // "rank 3 (position 1, replica 1)"
  int replica = 0;                  // as the name tells it
  std::vector<RecordedSpan> spans;  // by start, but for sums of gradients
};

struct RecordedProcess {  // one way to have run a step
  std::string name;       // "measured", "predicted"
  std::vector<RecordedRank> ranks;
};

struct RecordedStep {
  int64_t step = 0;
  std::vector<RecordedProcess> processes;  // in the order of the file; at most one of a name
};

// Takes the lines of a trace in their order and holds only what is kept of them.
class TraceReader {
 public:
  // Takes a line without its end. Throws Error(Data) naming `where` for an event that cannot be
  // read.
  void add(std::string_view line, const std::string& where);
  // Returns the steps in ascending order. Leaves the reader empty.
  [[nodiscard]] std::vector<RecordedStep> finish();

 private:
  struct Process {
    std::string name;
    std::map<int, int> rank_of_thread;  // where the threads say it; else a thread is a rank
    std::map<int, std::string> rank_names;
    std::map<int64_t, std::map<int, std::vector<RecordedSpan>>> steps;  // by step, by rank
  };
  static void name_thread(Process& process, int thread, const nlohmann::json& args,
                          const std::string& where);

  std::map<int, Process> processes_;  // by pid
};

}  // namespace penstock

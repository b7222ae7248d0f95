// runtime/records/telemetry/trace_json.h -- writes timelines of training steps as trace.json, a
// file of Chrome trace events, which opens in Perfetto, chrome://tracing and Penstock's own page.
//
// A timeline says when each rank ran each instruction
// (runtime/planning/schedule/timing/timeline.h). In the trace, a "process" is one way in which the
// steps ran, "measured" or "predicted"; a "thread" is one kind of activity of one rank: computing,
// receiving, sending, summing, updating. Instructions that take no time, such as a simulated send,
// are left out. An arrow leads from each send to its receive. Format: "Trace Event Format", Google
// 2016; complete events ("ph": "X"), flows ("s", "f"), counters ("C") and metadata ("M").
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "runtime/planning/schedule/timing/timeline.h"

namespace penstock {

// One step of a process, on all ranks.
struct TracedStep {
  int64_t step = 0;
  double start = 0;        // seconds from the beginning of the trace to time 0 of the timeline
  Timeline timeline = {};  // in units of Trace::seconds_per_unit
  // [rank][index of the instruction in the timeline]: bytes in use on the device after it; empty:
  // not known.
  std::vector<std::vector<int64_t>> bytes = {};
};

struct TracedProcess {
  std::string name = {};                     // "measured" or "predicted"
  std::vector<std::string> rank_names = {};  // by rank; ranks that it lacks are called "rank 3"
  std::vector<int> replicas = {};            // by rank: its replica; 0 for ranks that it lacks
  std::vector<TracedStep> steps = {};
};

struct Trace {
  // Facts about the run (schedule, stages, ...), as keys and values, for people who open the file.
  std::vector<std::pair<std::string, std::string>> about = {};
  std::vector<TracedProcess> processes = {};
  double seconds_per_unit = 1;  // the unit of all timelines; 1e-3: milliseconds
};

// Writes {"traceEvents": [...], "displayTimeUnit": "ms", "otherData": {...}}, one event a line;
// otherData is `about`. The events are:
//
//   slices   an instruction: name as text(instruction) (schedule.h) writes it; cat "compute",
//            "communication" or "update"; ts and dur in microseconds; args op, stage and
//            micro_batch (where it has them), step, and bytes in use after it
//   counters "rank 3 memory": bytes in use as a curve
//   threads  metadata that names each thread; args also hold rank, rank_name and stream, the kind
//            of activity ("compute")
//   flows    an arrow: name "activation" or "gradient", cat "message", id from 1 on, unique in the
//            file; its ends lie inside the slices that it joins (formats/trace_flows.h)
void write_trace(std::ostream& out, const Trace& trace);
[[nodiscard]] std::string trace_json(const Trace& trace);  // what write_trace() writes

}  // namespace penstock

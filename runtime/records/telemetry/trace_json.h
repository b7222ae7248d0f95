// runtime/records/telemetry/trace_json.h -- writes timelines as Chrome trace events: trace.json,
// which opens in Perfetto, chrome://tracing and Penstock's own page.
//
// A process of the trace is a way in which the steps ran ("measured", "predicted"); a thread of it
// is one stream of one rank: what it computes, receives, sends, sums, updates. Instructions that
// take no time, as posting a send in a simulation, are left out. An arrow leads from each send to
// its receive. Format: "Trace Event Format", Google 2016; complete events ("ph": "X"), flows ("s",
// "f"), counters ("C") and metadata ("M").
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "runtime/planning/schedule/timing/timeline.h"

namespace penstock {

struct TracedStep {
  int64_t step = 0;
  double start = 0;  // seconds from the beginning of the trace to time 0 of the timeline
  Timeline timeline = {};
  // Bytes in use on the device after each instruction, by rank and instruction; empty: not known.
  std::vector<std::vector<int64_t>> bytes = {};
};

struct TracedProcess {
  std::string name = {};
  std::vector<std::string> rank_names = {};  // by rank; "rank 3" where absent
  std::vector<int> replicas = {};            // by rank: messages stay within one; 0 where absent
  std::vector<TracedStep> steps = {};
};

struct Trace {
  // About the run: schedule, stages, ... for whoever opens the file, as "otherData".
  std::vector<std::pair<std::string, std::string>> about = {};
  std::vector<TracedProcess> processes = {};
  double seconds_per_unit = 1;  // of the timelines; 1e-3: their unit is a millisecond
};

// {"traceEvents": [...], "displayTimeUnit": "ms", "otherData": {...}}, one event a line.
//   slices   name as text(instruction) says it; cat compute, communication or update; ts and dur in
//            microseconds; args op, stage and micro_batch where they have a meaning, step, and
//            bytes in use after the instruction
//   counters "rank 3 memory", bytes in use as a curve
//   threads  their names' args hold rank, rank_name and stream ("compute") beside the name
//   flows    name activation or gradient, cat message, id from 1 on, each once in the file; the
//            ends lie inside of the slices that they join (formats/trace_flows.h)
void write_trace(std::ostream& out, const Trace& trace);
[[nodiscard]] std::string trace_json(const Trace& trace);  // what write_trace() writes

}  // namespace penstock

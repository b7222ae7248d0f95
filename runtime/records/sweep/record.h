// runtime/records/sweep/record.h -- sweep.json: what a sweep consists of, and what was planned of
// it. With the run directories beside it, all that its table is made from.
//
//   sweep.json    this record
//   sweep.lock    who works on the sweep now
//   points/NAME/  a run directory each, and in it:
//     point.toml     the run, settled when the sweep first began
//     output.txt     what the ranks printed, of all attempts
//     failure.txt    why its last attempt failed; absent while nothing has
//     job.sh, submitted.txt   of batch sweeps: the job, and what the batch system said to it
//   table.csv, table.md, throughput.svg, efficiency.svg
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/records/sweep/sizes.h"

namespace penstock {

inline constexpr const char* kSweepFile = "sweep.json";
inline constexpr const char* kSweepLock = "sweep.lock";
inline constexpr const char* kPointFile = "point.toml";
inline constexpr const char* kOutputFile = "output.txt";
inline constexpr const char* kFailureFile = "failure.txt";
inline constexpr const char* kJobScript = "job.sh";
inline constexpr const char* kSubmittedFile = "submitted.txt";

struct PointForecast {
  double step_s = 0;
  double bubble = 0;       // share of the pipeline's time
  int64_t peak_bytes = 0;  // of the fullest rank
};

struct SweepPoint {
  std::string name = {};  // of its directory; no two are the same
  PointSizes sizes = {};
  std::string schedule = {}, recompute = {};
  int64_t steps = 0;
  // What the grid sets beside the pipeline: "model.width 64, run.seed 2". Points that differ in it
  // train other things: each group has an ideal and curves of its own.
  std::string group = {};
  std::optional<PointForecast> planned = {};
  std::string skipped = {};  // why it is not run; empty: it is
};

struct SweepRecord {
  Scaling scaling = Scaling::Strong;
  int64_t mini_batch = 1;  // SizeRules
  int64_t warmup = 0;      // steps at the beginning of each attempt that are not measured
  std::vector<SweepPoint> points = {};
};

[[nodiscard]] std::string point_directory(const std::string& sweep, const SweepPoint& point);

[[nodiscard]] std::string record_json(const SweepRecord& record);
// Throws Error(Data) naming `where` for what record_json() did not write.
[[nodiscard]] SweepRecord parse_record(const std::string& text, const std::string& where);

}  // namespace penstock

// runtime/records/sweep/record.h -- SweepRecord: sweep.json, which says the points of a sweep and
// what was planned of them. Tables and charts are made from it and the run directories beside it.
//
//   sweep.json    this record
//   sweep.lock    who works on the sweep now
//   points/NAME/  the run directory of a point, and in it:
//     point.toml     the run file, settled when the sweep first began
//     output.txt     what the ranks printed in all attempts
//     failure.txt    why the last attempt failed; absent where it has not
//     job.sh, submitted.txt   of batch sweeps: the job, and the batch system's answer
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

struct PointForecast {  // what the planner expects of a point
  double step_s = 0;
  double bubble = 0;       // share of the pipeline's time
  int64_t peak_bytes = 0;  // of the fullest rank
};

struct SweepPoint {
  std::string name = {};  // of its directory, unique in the sweep
  PointSizes sizes = {};
  std::string schedule = {}, recompute = {};
  int64_t steps = 0;
  // What the grid sets besides the pipeline: "model.width 64, run.seed 2". Points of different
  // groups train different things, so each group has a base and curves of its own.
  std::string group = {};
  std::optional<PointForecast> planned = {};
  std::string skipped = {};  // why it is not run; empty: it is
};

struct SweepRecord {
  Scaling scaling = Scaling::Strong;
  int64_t mini_batch = 1;  // samples of a step; weak scaling: samples of a step per rank
  int64_t warmup = 0;      // steps at the beginning of each attempt that are not measured
  std::vector<SweepPoint> points = {};
};

// "<sweep>/points/<name>".
[[nodiscard]] std::string point_directory(const std::string& sweep, const SweepPoint& point);

[[nodiscard]] std::string record_json(const SweepRecord& record);
// Throws Error(Data) naming `where` for what record_json() did not write.
[[nodiscard]] SweepRecord parse_record(const std::string& text, const std::string& where);

}  // namespace penstock

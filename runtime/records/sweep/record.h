// runtime/records/sweep/record.h -- SweepRecord: the file sweep.json, which lists the points of a
// sweep (many runs of one experiment with other sizes) and what was predicted of each; and the
// names of the other files of a sweep's directory:
//
//   sweep.json    this record
//   sweep.lock    says which process works on the sweep now
//   points/NAME/  the run directory of a point; NAME-r2, NAME-r3, ... those of its repeats. In it:
//     point.toml     its run file, with all options, made when the sweep first began
//     output.txt     what the ranks printed in all attempts (starts)
//     failure.txt    why the last attempt failed; absent if it has not
//     job.sh, submitted.txt   for batch systems: the job script, and the batch system's answer
//   table.csv, table.md, report.html, throughput.svg and efficiency.svg (and .pdf)   of the points
//   runs.csv                                               of every single run
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/records/sweep/plots/plot_choice.h"
#include "runtime/records/sweep/sizes.h"

namespace penstock {

inline constexpr const char* kSweepFile = "sweep.json";
inline constexpr const char* kSweepLock = "sweep.lock";
inline constexpr const char* kPointFile = "point.toml";
inline constexpr const char* kOutputFile = "output.txt";
inline constexpr const char* kFailureFile = "failure.txt";
inline constexpr const char* kJobScript = "job.sh";
inline constexpr const char* kSubmittedFile = "submitted.txt";

// What the planner predicts of a point.
struct PointForecast {
  double step_s = 0;       // seconds of a step
  double bubble = 0;       // 0 to 1: share of the pipeline's time in which ranks do not compute
  int64_t peak_bytes = 0;  // of the rank that needs the most memory
};

// A key of the run file that the sweep's grid varies, with its value in a point.
struct VariedKey {
  std::string name, value;  // "model.width", "64"
};

struct SweepPoint {
  std::string name = {};  // unique in the sweep: "k2-d1-m8-1f1b"; also names its directory
  PointSizes sizes = {};
  std::string schedule = {};   // pipeline.schedule
  std::string recompute = {};  // "layer", "stage but in stages 0,3"
  int64_t steps = 0;           // how many the run is to do
  // What the sweep's grid sets besides [pipeline]: "model.width 64, run.seed 2". Only points of one
  // group train the same thing and can be compared.
  std::string group = {};
  std::vector<VariedKey> keys = {};           // all that the grid varies, in its order
  uint64_t seed = 1;                          // run.seed of its first run
  bool dry_run = false;                       // its runs are dry runs, which train nothing
  std::optional<PointForecast> planned = {};  // null: there is no prediction
  std::string skipped = {};                   // why it is not run; empty: it is run
};

struct SweepRecord {
  Scaling scaling = Scaling::Strong;
  int64_t mini_batch = 1;    // samples of a step; for weak scaling: of a step per rank
  int64_t warmup = 0;        // how many steps at the beginning of each attempt are not measured
  int repeats = 1;           // how many runs each point has
  bool varies_seed = false;  // each repeat of a point has the next run.seed; else all have the same
  PlotChoice plot = {};
  std::vector<SweepPoint> points = {};
};

// The name of one run of the point, and of its directory: the point's, for repeat 2 with "-r2".
// Repeats count from 1.
[[nodiscard]] std::string run_name(const SweepPoint& point, int repeat);
// "<sweep>/points/<run_name()>".
[[nodiscard]] std::string run_directory(const std::string& sweep, const SweepPoint& point,
                                        int repeat);
// How many runs the point has; one that is skipped has none, and counts as one.
[[nodiscard]] int runs_of(const SweepRecord& record, const SweepPoint& point);
// run.seed of one run of the point.
[[nodiscard]] uint64_t seed_of(const SweepRecord& record, const SweepPoint& point, int repeat);

// The text of sweep.json.
[[nodiscard]] std::string record_json(const SweepRecord& record);
// Reads that text. `where` is the file's path, for messages. Throws Error(Data) naming `where` if
// it is damaged.
[[nodiscard]] SweepRecord parse_record(const std::string& text, const std::string& where);

}  // namespace penstock

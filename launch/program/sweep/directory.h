// launch/program/sweep/directory.h -- the directory of a sweep: locks it, and reads and writes its
// files (runtime/records/sweep/record.h lists them). A sweep is an experiment of many runs, its
// points; each has a run directory in it.
#pragma once

#include <string>
#include <vector>

#include "launch/program/sweep/points.h"
#include "runtime/records/run_directory/lock/lock.h"
#include "runtime/records/sweep/plots/curves.h"
#include "runtime/records/sweep/scaling.h"

namespace penstock {

// A lock on the directory: while it lives, no other process works on this sweep.
class SweepDirectory {
 public:
  // Makes what is missing of the directory `path`, and writes the sweep's record and each point's
  // run file. Throws Error(Input), before anything is changed, where `path` is something else, a
  // point has other settings there, or another process works on the sweep.
  SweepDirectory(std::string path, const DrawnSweep& sweep);

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  // Writes the record and the run files.
  void write_down(const DrawnSweep& sweep) const;

  std::string path_;
  DirectoryLock lock_;
};

// The record of the sweep in `directory`. Throws Error(Input) where there is none, Error(Data)
// where it is damaged.
[[nodiscard]] SweepRecord read_sweep(const std::string& directory);

// The rows of the results: what each point has come to so far, beside its forecast.
[[nodiscard]] std::vector<ScalingRow> rows_of(const std::string& directory,
                                              const SweepRecord& record);

// Writes table.csv, runs.csv, table.md and the plots, each by atomic replacement, and returns the
// table as Markdown. Throws Error(Resource).
std::string write_results(const std::string& directory, const SweepRecord& record);
// The plots of these results.
[[nodiscard]] std::vector<SweepPlot> plots_of(const SweepRecord& record,
                                              const std::vector<ScalingRow>& rows);
// Writes report.html for the sweep, and for each of its runs that has begun, and returns the path
// of the first. Tells the user of runs that are damaged. Throws Error(Resource).
std::string write_pages(const std::string& directory, const SweepRecord& record);

}  // namespace penstock

// launch/program/sweep/directory.h -- the directory of a sweep: locks it, and reads and writes the
// files in it, which runtime/records/sweep/record.h lists.
#pragma once

#include <string>
#include <vector>

#include "launch/program/sweep/points.h"
#include "runtime/records/run_directory/lock/lock.h"
#include "runtime/records/sweep/scaling.h"

namespace penstock {

// A lock on a sweep's directory: while it lives, no other process works on the sweep.
class SweepDirectory {
 public:
  // Makes what is missing of the directory `path`, and writes the sweep's record and each point's
  // run file. Throws Error(Input), before anything is changed, where `path` is something else, a
  // point is there with other settings, or another process works on the sweep.
  SweepDirectory(std::string path, const DrawnSweep& sweep);

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void write_down(const DrawnSweep& sweep) const;

  std::string path_;
  DirectoryLock lock_;
};

// Reads the record of the sweep in the directory. Throws Error(Input) where there is none,
// Error(Data) where it is damaged.
[[nodiscard]] SweepRecord read_sweep(const std::string& directory);

// The rows of the results: what each point has come to so far, beside its forecast.
[[nodiscard]] std::vector<ScalingRow> rows_of(const std::string& directory,
                                              const SweepRecord& record);

// Writes table.csv, table.md and the plots, each by atomic replacement, and returns the table in
// Markdown. Throws Error(Resource).
std::string write_results(const std::string& directory, const SweepRecord& record);

}  // namespace penstock

// launch/program/sweep/directory.h -- the directory of a sweep: whose it is, and what stands in it.
// runtime/records/sweep/record.h says what it is made of.
#pragma once

#include <string>
#include <vector>

#include "launch/program/sweep/points.h"
#include "runtime/records/run_directory/lock/lock.h"
#include "runtime/records/sweep/scaling.h"

namespace penstock {

// While it lives, no other process works on the sweep.
class SweepDirectory {
 public:
  // Makes what is missing of the directory `path`, and writes down the sweep and each point's run
  // file. Throws Error(Input), before anything is changed, where something else is there, a point
  // is there with other settings, or another process works on it.
  SweepDirectory(std::string path, const DrawnSweep& sweep);

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void write_down(const DrawnSweep& sweep) const;

  std::string path_;
  DirectoryLock lock_;
};

// Throws Error(Input) where there is no sweep, Error(Data) where it is damaged.
[[nodiscard]] SweepRecord read_sweep(const std::string& directory);

[[nodiscard]] std::vector<ScalingRow> rows_of(const std::string& directory,
                                              const SweepRecord& record);

// Writes table.csv, table.md and the plots, each by atomic replacement, and returns the table in
// Markdown. Throws Error(Resource).
std::string write_results(const std::string& directory, const SweepRecord& record);

}  // namespace penstock

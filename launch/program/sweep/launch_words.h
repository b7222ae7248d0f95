// launch/program/sweep/launch_words.h -- makes what starts one point (run) of a sweep: the words of
// a command line on this machine, or the text of a job script for a batch system.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/program/sweep/file/sweep_file.h"
#include "runtime/records/sweep/record.h"

namespace penstock {

// The paths that a start needs, all absolute.
struct PointStart {
  std::string program;       // of this program
  std::string directory;     // of the run's directory
  std::string scripts = {};  // of the folder that sweep.script is in; for batch sweeps
  // What is given to penstock train besides the run file and the directory: "--dry-run".
  std::vector<std::string> more = {};
};

// The absolute path of this program.
[[nodiscard]] std::string this_program();

struct PointNodes {
  int nodes = 1, ranks_per_node = 1;
};
// How many nodes the ranks of a point need, and how many ranks are on each; nothing where the ranks
// do not fill the nodes equally.
[[nodiscard]] std::optional<PointNodes> nodes_of(const SweepFile& sweep, const SweepPoint& point);

// One run of a point. Repeats count from 1.
struct PointRun {
  const SweepPoint& point;
  int repeat = 1;
  [[nodiscard]] std::string name() const { return run_name(point, repeat); }
};

// A command of the sweep file (launcher, submit) as words, split at blanks without a shell.
// {ranks}, {nodes}, {ranks_per_node} and {name} become the run's values. Throws Error(Input) for
// any other {...}.
[[nodiscard]] std::vector<std::string> run_words(const std::string& command, const SweepFile& sweep,
                                                 const PointRun& run);

// What a sweep gives to penstock train besides the run file and the directory.
[[nodiscard]] std::vector<std::string> extra_words(const SweepFile& sweep);

// The words that start a run on this machine: `mpirun -n 2 penstock train .../point.toml --out
// ... --resume auto`.
[[nodiscard]] std::vector<std::string> local_words(const SweepFile& sweep, const PointRun& run,
                                                   const PointStart& start);

}  // namespace penstock

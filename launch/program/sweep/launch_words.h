// launch/program/sweep/launch_words.h -- the command line or job script that starts a point of a
// sweep, here or by a batch system.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/program/sweep/sweep_file.h"
#include "runtime/records/sweep/record.h"

namespace penstock {

struct PointStart {
  std::string program;       // absolute path of this program
  std::string directory;     // absolute path of the point's directory
  std::string scripts = {};  // absolute path of the folder of sweep.script, in a batch sweep
};

// The absolute path of this program.
[[nodiscard]] std::string this_program();

struct PointNodes {
  int nodes = 1, ranks_per_node = 1;
};
// How many nodes a point's ranks are on, and how many ranks on each; nothing where the ranks do not
// fill their nodes equally.
[[nodiscard]] std::optional<PointNodes> nodes_of(const SweepFile& sweep, const SweepPoint& point);

// A command of the sweep file as words, split at blanks without a shell; {ranks}, {nodes},
// {ranks_per_node} and {name} become the point's values. Throws Error(Input) for another {...}.
[[nodiscard]] std::vector<std::string> point_words(const std::string& command,
                                                   const SweepFile& sweep, const SweepPoint& point);

// The words that start a point here: `mpirun -n 2 penstock train .../point.toml --out ... --resume
// auto`.
[[nodiscard]] std::vector<std::string> local_words(const SweepFile& sweep, const SweepPoint& point,
                                                   const PointStart& start);

// The text of a job script for this point: that of sweep.script, `script`, with the point's run put
// in below its head, so that the batch system takes it without arguments. Throws Error(Input) where
// `script` is no script, or a path has blanks: the script takes the whole run from one variable.
[[nodiscard]] std::string job_script(const std::string& script, const SweepPoint& point,
                                     const PointStart& start);

}  // namespace penstock

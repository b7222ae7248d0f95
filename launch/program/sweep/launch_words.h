// launch/program/sweep/launch_words.h -- the words by which a point is started, here or by a batch
// system.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/program/sweep/sweep_file.h"
#include "runtime/records/sweep/record.h"

namespace penstock {

struct PointStart {
  std::string program;       // absolute path of this program
  std::string directory;     // absolute path of the point's
  std::string scripts = {};  // absolute path of the folder of sweep.script, in a batch sweep
};

// The path of the program that runs.
[[nodiscard]] std::string this_program();

// How many nodes a point's ranks are on and how many ranks on each; nothing where they are not
// equally many.
struct PointNodes {
  int nodes = 1, ranks_per_node = 1;
};
[[nodiscard]] std::optional<PointNodes> nodes_of(const SweepFile& sweep, const SweepPoint& point);

// A command of the sweep file as words, split at blanks, no shell between; {ranks}, {nodes},
// {ranks_per_node} and {name} stand for the point's. Throws Error(Input) for another {...}.
[[nodiscard]] std::vector<std::string> point_words(const std::string& command,
                                                   const SweepFile& sweep, const SweepPoint& point);

// `mpirun -n 2 penstock train .../point.toml --out ... --resume auto`
[[nodiscard]] std::vector<std::string> local_words(const SweepFile& sweep, const SweepPoint& point,
                                                   const PointStart& start);

// The text of sweep.script with this point's run put in below its head, so that the batch system
// takes it without arguments. Throws Error(Input) where paths have blanks in them, which scripts
// that take their run from one variable cannot have, or the script is none.
[[nodiscard]] std::string job_script(const std::string& script, const SweepPoint& point,
                                     const PointStart& start);

}  // namespace penstock

// launch/program/sweep/sweep_file.h -- SweepFile: the file of a sweep (TOML), which names a run
// file, the keys that are varied, and how the points are started. docs/sweep.md shows one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "launch/program/options/option_table.h"
#include "runtime/records/sweep/sizes.h"

namespace penstock {

struct SetKey {  // a key of [set], the same in every point
  const Option* option = nullptr;
  OptionValue value = {};
  std::string origin = {};  // "sweep.toml:12"
};

struct GridKey {  // a key of [grid], which is varied
  const Option* option = nullptr;
  std::vector<OptionValue> values = {};  // at least one
  std::string origin = {};
};

struct SweepFile {
  std::filesystem::path path = {};  // as given by the user
  std::string run = {};             // the path of the run file
  std::string out = {};             // the path of the sweep directory
  bool batch = false;               // a batch job for each point; else one after the other, here
  Scaling scaling = Scaling::Strong;
  int64_t mini_batch = 0;       // samples of a step: SizeRules::mini_batch; 0: the run file's
  std::vector<int> ranks = {};  // the numbers of ranks allowed; empty: all that the grid makes
  std::string launcher = "mpirun -q --bind-to none -n {ranks}";
  std::string script = {};     // for batch jobs: the path of one of launch/batch
  std::string submit = {};     // the command that takes a job script; empty: it is only written
  int ranks_per_node = 0;      // 0: all on one node
  std::string device = "cpu";  // the device of forecasts: device_model_named()
  std::string memory = {};     // of each device; empty: what that model has
  int64_t warmup = 5;          // first steps of an attempt, which are not measured
  bool stops_on_failure = false;
  std::vector<SetKey> set = {};
  std::vector<GridKey> grid = {};

  [[nodiscard]] bool varies(const std::string& name) const;  // "pipeline.stages", in the grid
};

// Reads a sweep file. Throws Error(Input) naming file, line and key: not readable, not TOML, an
// unknown key, a wrong type, a value outside its range, a run file or script that is not there.
[[nodiscard]] SweepFile read_sweep_file(const std::filesystem::path& path);
// Reads the text of a sweep file, as read_sweep_file() does; `name` is the file's path, to whose
// folder, and then to the working directory, paths are relative.
[[nodiscard]] SweepFile parse_sweep_file(const std::string& text, const std::string& name);

}  // namespace penstock

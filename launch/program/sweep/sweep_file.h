// launch/program/sweep/sweep_file.h -- the file of a sweep (TOML): a run file, what is varied of
// it, and how the points are started. docs/sweep.md has one with comments.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "launch/program/options/option_table.h"
#include "runtime/records/sweep/sizes.h"

namespace penstock {

struct SetKey {  // of [set]: the same in every point
  const Option* option = nullptr;
  OptionValue value = {};
  std::string origin = {};  // "sweep.toml:12"
};

struct GridKey {  // of [grid]
  const Option* option = nullptr;
  std::vector<OptionValue> values = {};  // at least one
  std::string origin = {};
};

struct SweepFile {
  std::filesystem::path path = {};  // as given by the user
  std::string run = {};             // the run file, found
  std::string out = {};             // the sweep directory
  bool batch = false;               // a job each, else one after the other, here
  Scaling scaling = Scaling::Strong;
  int64_t mini_batch = 0;       // as SizeRules::mini_batch; 0: that of the run file
  std::vector<int> ranks = {};  // empty: what the grid makes
  std::string launcher = "mpirun -q --bind-to none -n {ranks}";
  std::string script = {};     // of batch sweeps: one of launch/batch, found
  std::string submit = {};     // the command that takes a job; empty: only written
  int ranks_per_node = 0;      // 0: all on one node
  std::string device = "cpu";  // device_model_named(), of forecasts
  std::string memory = {};     // of each; empty: what that device has
  int64_t warmup = 5;          // steps of an attempt that are not measured
  bool stops_on_failure = false;
  std::vector<SetKey> set = {};
  std::vector<GridKey> grid = {};

  [[nodiscard]] bool varies(const std::string& name) const;  // "pipeline.stages", in the grid
};

// Throws Error(Input) naming file, line and key: not readable, not TOML, an unknown key, a wrong
// type, a value outside its range, a run file or script that is not there.
[[nodiscard]] SweepFile read_sweep_file(const std::filesystem::path& path);
// The same for text in memory; `name` stands for the file, and paths are relative to its folder,
// then to the working directory.
[[nodiscard]] SweepFile parse_sweep_file(const std::string& text, const std::string& name);

}  // namespace penstock

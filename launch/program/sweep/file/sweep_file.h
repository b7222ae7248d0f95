// launch/program/sweep/file/sweep_file.h -- SweepFile: the TOML file that describes a sweep (an
// experiment of many runs): which run file it starts from, which of its keys are varied, and how
// the runs are started. docs/sweep.md shows one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "launch/program/options/option_table.h"
#include "runtime/records/sweep/plots/plot_choice.h"
#include "runtime/records/sweep/sizes.h"

namespace penstock {

// A key of the section [set]: it has this value in every point.
struct SetKey {
  const Option* option = nullptr;
  OptionValue value = {};   // what it is set to
  std::string origin = {};  // where it stands, "sweep.toml:12"
};

// A key of the section [grid]: the points have every combination of the values of all such keys.
struct GridKey {
  const Option* option = nullptr;
  std::vector<OptionValue> values = {};  // at least one
  std::string origin = {};
};

// The whole file. The members down to stops_on_failure are keys of the section [sweep].
struct SweepFile {
  std::filesystem::path path = {};  // of this file, as the user gave it
  std::string run = {};             // the path of the run file
  std::string out = {};             // the path of the sweep directory
  bool batch = false;  // submit a batch job for each point; else run them here, one after the other
  // How the mini-batch follows the number of ranks (strong, weak, as given).
  Scaling scaling = Scaling::Strong;
  // Samples of a step (weak scaling: of a step per rank); 0: as in the run file.
  int64_t mini_batch = 0;
  int repeats = 1;              // how many runs each point has
  bool varies_seed = false;     // each repeat of a point has the next run.seed
  std::vector<int> ranks = {};  // the numbers of ranks wanted; empty: all that the grid makes
  // The command that starts the ranks of a point on this machine; {ranks} becomes their number.
  std::string launcher = "mpirun --bind-to none -n {ranks}";
  std::string script = {};  // batch: the path of a job script, such as those in launch/batch
  // Batch: the command that takes a job script; empty: scripts are only written.
  std::string submit = {};
  int ranks_per_node = 0;         // 0: all ranks of a point are on one node
  int gpus_per_node = 0;          // batch: that a job asks for; 0: what the script says
  double walltime_s = 0;          // batch: of a job; 0: what the script says
  bool dry_run = false;           // run.dry_run in [set]: nothing is trained
  std::string device = "cpu";     // the device that forecasts are for (device_model_named())
  std::string memory = {};        // of each device, "40GiB"; empty: what that device has
  int64_t warmup = 5;             // steps at the beginning of each attempt that are not measured
  bool stops_on_failure = false;  // end the sweep when a point fails
  PlotChoice plot = {};           // the section [plot]
  // The places where keys of [sweep] and [plot] stand: "plot.x" -> "sweep.toml:12".
  std::map<std::string, std::string> places = {};
  std::vector<SetKey> set = {};
  std::vector<GridKey> grid = {};

  // Whether the key `name` ("pipeline.stages") is in the grid.
  [[nodiscard]] bool varies(const std::string& name) const;
  // Where the grid, [sweep] or [plot] has the key, "sweep.toml:12"; the file, if none of them has.
  [[nodiscard]] std::string place_of(const std::string& name) const;
  // Whether [grid] or [set] gives this key, so that it does not come from the run file.
  [[nodiscard]] bool says(const std::string& name) const;
};

// Reads a sweep file. Throws Error(Input) naming file, line and key: it cannot be read or is not
// TOML, a key is unknown, a value has the wrong type or is outside its range, or the run file or
// the script is missing.
[[nodiscard]] SweepFile read_sweep_file(const std::filesystem::path& path);
// The same for the text of a sweep file. `name` is the file's path; paths in the text are relative
// to its folder or, where nothing is there, to the working directory.
[[nodiscard]] SweepFile parse_sweep_file(const std::string& text, const std::string& name);

}  // namespace penstock

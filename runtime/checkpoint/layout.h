// runtime/checkpoint/layout.h -- the directory of a run's checkpoints: names, and how one comes,
// is replaced and goes without ever being seen half.
//
//   step-00000100            complete: a directory gets this name only when all of it is on disk
//   .step-00000100.partial   being written, or being deleted; after a crash, rubbish
//   .step-00000100.replaced  complete, the older of two of one step; stands in if a crash fell
//                            between the two renames that replace it
// Used by one process at a time (rank 0 of a save). System failures throw Error(Resource) naming
// the path.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

struct StepDirectory {
  int64_t step = 0;
  std::string path;
};

[[nodiscard]] std::string step_name(int64_t step);  // "step-00000100"

// The complete checkpoints under `root`, by ascending step; none when there is no such directory.
[[nodiscard]] std::vector<StepDirectory> list_checkpoints(const std::string& root);

// Makes `root` where missing, clears away what a crash left there, and makes the empty partial
// directory of this step, which it returns.
[[nodiscard]] std::string begin_step(const std::string& root, int64_t step);
// Gives the partial directory, whose files are on disk, its final name, which it returns. An older
// checkpoint of this step stays beside it as `.replaced` until retire_steps.
std::string publish_step(const std::string& root, int64_t step);
// Removes the partial directory; never throws, as it is called when something else has failed.
void abandon_step(const std::string& root, int64_t step) noexcept;

// Removes what publish_step replaced, and every checkpoint but that of `latest` and the keep - 1
// others of the highest steps; with keep = 0 all stay.
void retire_steps(const std::string& root, int keep, int64_t latest);

}  // namespace penstock

// runtime/records/checkpoint/layout.h -- the directory of a run's checkpoints: its names, and how a
// checkpoint is made, replaced and removed without ever being seen half.
//
//   step-00000100            complete: a directory gets this name only when all of it is on disk.
//                            It may be a symbolic link to a checkpoint elsewhere
//   latest                   a symbolic link to the newest, by its name alone. A copy of the run
//                            directory that followed links has a directory here: a complete
//                            checkpoint, which counts for its step where that is missing
//   .step-00000100.partial   being written or removed; after a crash, rubbish
//   .step-00000100.replaced  complete, the older of two of one step; used if a crash fell between
//                            the renames of the older and of the newer one
//   .latest.next             what `latest` becomes as soon as that step has its name; used if a
//                            crash fell in between
// Written by one process at a time (rank 0 of a save). System failures throw Error(Resource) naming
// the path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock {

struct StepDirectory {
  int64_t step = 0;
  std::string path;
};

inline constexpr const char* kLatest = "latest";

[[nodiscard]] std::string step_name(int64_t step);         // "step-00000100"
[[nodiscard]] bool is_step_name(const std::string& path);  // whether its last part is one

// The complete checkpoints under `root`, by ascending step; none when there is no such directory.
[[nodiscard]] std::vector<StepDirectory> list_checkpoints(const std::string& root);
// Checkpoints that have lost their manifest, by ascending step: a directory with a step's name and
// a state.json was complete once.
[[nodiscard]] std::vector<StepDirectory> list_without_manifest(const std::string& root);
// The checkpoint that was completed last: what `latest` says, or, where that does not lead to a
// complete one, the one of the highest step. Nothing when there is none.
[[nodiscard]] std::optional<StepDirectory> latest_checkpoint(const std::string& root);

// The path of `latest` where it is a directory instead of a link; else nothing.
[[nodiscard]] std::optional<std::string> latest_directory(const std::string& root);

// Whether `path` is a complete checkpoint whose state.json names `run`.
[[nodiscard]] bool is_checkpoint_of(const std::string& path, const std::string& run);

// Makes `root` where missing, clears away what a crash left there, makes the empty partial
// directory of this step, and returns its path. Throws Error(Resource) when something that is no
// checkpoint of this run has the step's name.
[[nodiscard]] std::string begin_step(const std::string& root, int64_t step, const std::string& run);
// Gives the partial directory, whose files are on disk, its final name, makes it the latest, and
// returns its path. An older checkpoint of this step stays beside it as `.replaced` until
// clear_leftovers().
std::string publish_step(const std::string& root, int64_t step);
// Removes the partial directory; never throws, as it is called when something else has failed.
void abandon_step(const std::string& root, int64_t step) noexcept;

// Removes the checkpoint, or the link to it, after renaming it to a partial name, so that a crash
// leaves no half of it under its own.
void remove_step(const std::string& root, const StepDirectory& step);

// Completes or removes what a crash or publish_step() left. Returns why something had to stay;
// empty when all is clear.
std::string clear_leftovers(const std::string& root);

}  // namespace penstock

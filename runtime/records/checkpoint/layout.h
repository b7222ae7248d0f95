// runtime/records/checkpoint/layout.h -- the names in the directory of a run's checkpoints, and how
// a checkpoint is made, replaced and removed so that, even after a crash at any moment, every
// visible checkpoint is complete.
//
//   step-00000100            complete: a directory gets this name only when all of it is on disk.
//                            It may be a symbolic link to a checkpoint elsewhere
//   latest                   a symbolic link to the newest one, by its name alone. If somebody has
//                            copied the run directory and followed links, it is a directory: a
//                            complete checkpoint, which counts if its step has no other
//   best                     a symbolic link to the best one, by its name alone (best.h)
//   .step-00000100.partial   is being written or removed; after a crash it is rubbish
//   .step-00000100.replaced  complete: an older checkpoint of a step that was saved twice. It is
//                            used if a crash came before the newer one got the step's name
//   .best.next               what `best` is about to become; after a crash it is rubbish
//   .latest.next             what `latest` becomes as soon as that step has its name. It is used
//                            if a crash came in between
//
// Rank 0 saves a checkpoint with these calls: begin_step(); all ranks write files to the directory;
// publish_step(), or abandon_step() if something failed; clear_leftovers(). Only one process may
// change the directory at a time. `root` is always the path of the directory, "<run>/checkpoints".
// A system call that fails throws Error(Resource) naming the path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/manifest.h"

namespace penstock {

// A checkpoint: its training step and its path.
struct StepDirectory {
  int64_t step = 0;
  std::string path;
};

inline constexpr const char* kLatest = "latest";
inline constexpr const char* kBest = "best";

[[nodiscard]] std::string step_name(int64_t step);  // "step-00000100"
// Whether the last part of `path` is such a name.
[[nodiscard]] bool is_step_name(const std::string& path);

// The complete checkpoints, by ascending step; empty when `root` does not exist. A checkpoint is
// complete when it has a manifest (manifest.h).
[[nodiscard]] std::vector<StepDirectory> list_checkpoints(const std::string& root);
// Damaged checkpoints, by ascending step: directories with a step's name and a state.json, but
// without a manifest. They were complete once, and somebody has removed files. For messages.
[[nodiscard]] std::vector<StepDirectory> list_without_manifest(const std::string& root);
// The checkpoint that was completed last: the one that `latest` leads to or, if that is not
// complete, the one of the highest step. Null when there is none.
[[nodiscard]] std::optional<StepDirectory> latest_checkpoint(const std::string& root);

// The path of `latest` if it is a directory and not a link; else null.
[[nodiscard]] std::optional<std::string> latest_directory(const std::string& root);

// The content of the state.json of the complete checkpoint `path`; null where there is none or it
// is damaged.
[[nodiscard]] std::optional<CheckpointState> state_of_checkpoint(const std::string& path);
// Whether `path` is a complete checkpoint of the run with the identity `run` (in its state.json).
[[nodiscard]] bool is_checkpoint_of(const std::string& path, const std::string& run);

// Makes `root` if missing, clears away what a crash left there, makes the empty `.partial`
// directory of this step, and returns its path, to which files may then be written. Throws
// Error(Resource) if something that is no checkpoint of this `run` has the step's name.
[[nodiscard]] std::string begin_step(const std::string& root, int64_t step, const std::string& run);
// Renames the `.partial` directory, whose files must be on disk, to its final name, lets `latest`
// lead to it, and returns its path. If there was a checkpoint of this step, it stays as `.replaced`
// until clear_leftovers().
std::string publish_step(const std::string& root, int64_t step);
// Removes the `.partial` directory. Never throws, since it is called when something else has
// failed.
void abandon_step(const std::string& root, int64_t step) noexcept;

// Removes a checkpoint, or the link to it. It is first renamed to `.partial`, so that a crash
// leaves no half of it under its own name.
void remove_step(const std::string& root, const StepDirectory& step);

// Makes the link `best` lead to the checkpoint of that step; whoever looks sees the old link or the
// new one. Throws Error(Resource) where something that is no link has the name.
void point_best_to(const std::string& root, int64_t step);

// Completes or removes all `.partial`, `.replaced` and `.next` that a crash or
// publish_step() left. Returns why one of them could not be removed; empty: all are.
std::string clear_leftovers(const std::string& root);

}  // namespace penstock

// runtime/records/run_directory/contents.h -- look_into(): finds out what is in a directory to
// which a run is about to write: whose it is, which results, which checkpoints, and whether these
// can be used; and functions that find a usable checkpoint of a run.
//
// attempt.h decides by it what to do. Nothing here changes a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/error.h"
#include "runtime/records/run_directory/identity.h"

namespace penstock {

// A checkpoint that was found, of whatever run.
struct KeptCheckpoint {
  int64_t step = 0;
  std::string path;
  std::string run = {};          // the identity of the run that wrote it; empty: not recorded
  std::string trouble = {};      // why it cannot be used; empty: it can, as far as is known
  bool owes_evaluation = false;  // the evaluation after its step was due and is not done
  bool is_best = false;          // it was the best one when it was written (checkpoint.best)
  int64_t best_step = 0;         // the step of the best one by then; 0: none was looked for
};

struct DirectoryContents {
  bool foreign_run_file = false;             // it has a run.toml that Penstock did not write
  bool ours = false;                         // it has a run.json or run.toml that Penstock wrote
  std::optional<RunIdentity> identity = {};  // the content of run.json; null: there is none
  // Result files that are not empty (kResultFiles, names.h) and checkpoints, as paths relative to
  // the directory.
  std::vector<std::string> results = {};
  // By ascending step, with damaged ones, which say so in `trouble`.
  std::vector<KeptCheckpoint> checkpoints = {};
};

// Reads the names of files, run.json, and the small JSON files of the checkpoints; checks that each
// file of a checkpoint exists and has its size, but reads no tensors and compares no checksums. If
// there is no such directory, the result is empty. Throws Error(Data) for a damaged run.json,
// Error(Resource) for a directory that cannot be read.
[[nodiscard]] DirectoryContents look_into(const std::string& directory);

// The same for a single checkpoint, the directory `path`.
[[nodiscard]] KeptCheckpoint look_at_checkpoint(const std::string& path);

// The directory <run> of the path <run>/checkpoints/<step>; empty for any other path.
[[nodiscard]] std::string run_directory_of(const std::string& checkpoint);

// The path of the newest checkpoint of the run in `directory`, for commands that evaluate or use a
// trained network. Throws Error(Input) if there is none, Error(Data) if it is damaged; that message
// names an older one that is not.
[[nodiscard]] std::string newest_of_run(const std::string& directory);

// The path of the best checkpoint of the run in `directory`, which checkpoint.best keeps. Throws
// Error(Input) if there is none, Error(Data) if it is damaged.
[[nodiscard]] std::string best_of_run(const std::string& directory);

// Whether all files of a checkpoint have the right checksums. Reads all of them, which may take
// long.
[[nodiscard]] bool is_whole(const std::string& checkpoint);

// The end of a message about a damaged checkpoint: "; the newest whole one of its run is ...". To
// find that one, reads the run's other checkpoints until is_whole() is true of one.
[[nodiscard]] std::string offer_beside(const std::string& checkpoint);

// Returns work(), which reads `checkpoint`. If it throws Error(Data), and the checkpoint is
// damaged, throws that error again with offer_beside() at the end of its text.
template <class Work>
auto with_offer_beside(const std::string& checkpoint, Work&& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Data || is_whole(checkpoint)) throw;
    fail_data(error.what() + offer_beside(checkpoint));
  }
}

}  // namespace penstock

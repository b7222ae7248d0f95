// runtime/records/run_directory/contents.h -- DirectoryContents: what is in a directory that a run
// may be about to write to; and which of its checkpoints can be used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/error.h"
#include "runtime/records/run_directory/identity.h"

namespace penstock {

struct KeptCheckpoint {
  int64_t step = 0;
  std::string path;
  std::string run = {};      // identity of the run that wrote it; empty: it does not say
  std::string trouble = {};  // why no run can resume from it; empty: nothing is known against it
  bool owes_evaluation = false;  // the evaluation after its step was due and is not done
};

struct DirectoryContents {
  bool foreign_run_file = false;                 // a run.toml that a person wrote
  bool ours = false;                             // penstock has written here
  std::optional<RunIdentity> identity = {};      // of run.json
  std::vector<std::string> results = {};         // files and checkpoints, relative to the directory
  std::vector<KeptCheckpoint> checkpoints = {};  // complete, by ascending step
};

// Reads names, run.json and the small documents of the checkpoints, and checks that each file of a
// checkpoint exists and has its size. Empty contents where there is no such directory. Throws
// Error(Data) for a run.json that cannot be read, Error(Resource) for a directory that cannot.
[[nodiscard]] DirectoryContents look_into(const std::string& directory);

// As look_into(), for the checkpoint at `path` alone.
[[nodiscard]] KeptCheckpoint look_at_checkpoint(const std::string& path);

// The directory <run> of the path <run>/checkpoints/<step>; empty for any other path.
[[nodiscard]] std::string run_directory_of(const std::string& checkpoint);

// The path of the newest checkpoint of the run in `directory`, for evaluation and use. Throws
// Error(Input) where there is none, and Error(Data) where it cannot be used, offering another.
[[nodiscard]] std::string newest_of_run(const std::string& directory);

// Whether all checksums of a checkpoint are right. Reads all its files.
[[nodiscard]] bool is_whole(const std::string& checkpoint);

// The end of an error about a damaged checkpoint: "; the newest whole one of its run is ...". Reads
// checkpoints until one has all its checksums.
[[nodiscard]] std::string offer_beside(const std::string& checkpoint);

// Runs `work`, which reads that checkpoint. An Error(Data) about a checkpoint that is not whole
// ends with offer_beside().
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

// runtime/records/run_directory/identity.h -- reads and writes run.json in a run directory: the
// identity of the run that the directory belongs to, and how often it was started.
//
// The identity is a random text that is made once, when a run first starts. Checkpoints carry it
// too, so that those of different runs can be told apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace penstock {

// Sizes of the data that a run's network was made for and trained on; 0: not known.
struct DataSizes {
  int64_t vocabulary = 0, classes = 0;
  int64_t training_samples = 0, validation_samples = 0;
  bool operator==(const DataSizes&) const = default;
};

// How long a run is to be: optimizer steps, and passes over the training set where those say it.
struct RunLength {
  int64_t steps = 0;   // 0: not recorded
  int64_t epochs = 0;  // 0: the steps were given
  bool operator==(const RunLength&) const = default;
};

struct RunIdentity {
  std::string run;       // the identity, 16 hexadecimal digits
  int64_t attempts = 0;  // how many times the run was started
  DataSizes data = {};
  RunLength length = {};  // of the latest attempt that took a step
};
[[nodiscard]] std::string new_run();  // a new identity, for RunIdentity::run

// Reads `directory`/run.json; null if there is no such file. Throws Error(Data) naming the file if
// it is damaged or was written by another version of the program, Error(Resource) if the system
// cannot read it.
[[nodiscard]] std::optional<RunIdentity> read_identity(const std::string& directory);
// Writes `directory`/run.json. An old one is replaced in one step, so that a crash leaves the old
// file or the new one. Throws Error(Resource) if it cannot be written.
void write_identity(const std::string& directory, const RunIdentity& identity);

}  // namespace penstock

// runtime/records/run_directory/identity.h -- reads and writes run.json: which run a directory
// belongs to.
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

struct RunIdentity {
  std::string run;       // 16 hexadecimal digits, made once; checkpoints carry them too
  int64_t attempts = 0;  // how many have begun
  DataSizes data = {};
};
[[nodiscard]] std::string new_run();  // a new RunIdentity::run

// What run.json says; nothing where the directory has none. Throws Error(Data) naming the file when
// it is not what write_identity() wrote.
[[nodiscard]] std::optional<RunIdentity> read_identity(const std::string& directory);
// Writes the file by atomic replacement. Throws Error(Resource).
void write_identity(const std::string& directory, const RunIdentity& identity);

}  // namespace penstock

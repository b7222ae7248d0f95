// runtime/records/run_directory/classes.h -- reads and writes classes.json in a run directory: what
// each label of an image classifier means ("cat", "dog", ...), so that a trained network can name
// what it sees.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// Returns the names of the classes; the name of label i is element i. Empty if the directory has no
// such file. Throws Error(Data) naming the file if it is damaged.
[[nodiscard]] std::vector<std::string> read_classes(const std::string& directory);
// Writes the file, in place of an old one (atomically). Bytes that are not UTF-8 become U+FFFD.
// Throws Error(Resource).
void write_classes(const std::string& directory, const std::vector<std::string>& classes);

// The check of a run that goes on: throws Error(Input) if the directory has a classes.json with
// other names than `classes`, those of the data at `path`, since labels would then mean other
// classes.
void refuse_other_classes(const std::string& directory, const std::vector<std::string>& classes,
                          const std::string& path);

}  // namespace penstock

// runtime/records/run_directory/classes.h -- reads and writes classes.json, the names of the
// classes of a run's images.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// The names by label; empty where the directory has no such file. Throws Error(Data) naming the
// file where it is not what write_classes() wrote.
[[nodiscard]] std::vector<std::string> read_classes(const std::string& directory);
// Writes the file by atomic replacement; bytes that are no UTF-8 become U+FFFD. Throws
// Error(Resource).
void write_classes(const std::string& directory, const std::vector<std::string>& classes);

// Throws Error(Input) where the names that the directory keeps are not `classes`, those of the data
// at `path`: a label would mean another class.
void refuse_other_classes(const std::string& directory, const std::vector<std::string>& classes,
                          const std::string& path);

}  // namespace penstock

// runtime/records/run_directory/classes.h -- classes.json: what the classes of a run's images are
// called.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// The names by label; empty where the directory keeps none. Throws Error(Data) naming the file
// where it is not what write_classes() wrote.
[[nodiscard]] std::vector<std::string> read_classes(const std::string& directory);
// Writes the file by atomic replacement; bytes that are no UTF-8 become U+FFFD. Throws
// Error(Resource).
void write_classes(const std::string& directory, const std::vector<std::string>& classes);

// Throws Error(Input) where the directory keeps names and those of the data (`path`) are others: a
// class number would mean another class.
void refuse_other_classes(const std::string& directory, const std::vector<std::string>& classes,
                          const std::string& path);

}  // namespace penstock

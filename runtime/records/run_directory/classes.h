// runtime/records/run_directory/classes.h -- classes.json: what the classes of a run's images are
// called.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// By label. Empty where the directory keeps none. Throws Error(Data) naming the file where it is
// not what write_classes() wrote.
[[nodiscard]] std::vector<std::string> read_classes(const std::string& directory);
// The whole file or the one before; bytes that are no UTF-8 become U+FFFD. Throws Error(Resource).
void write_classes(const std::string& directory, const std::vector<std::string>& classes);

// Nothing where the directory keeps no names. Throws Error(Input) where those of the data (`path`)
// are others: numbers of classes would mean other things.
void refuse_other_classes(const std::string& directory, const std::vector<std::string>& classes,
                          const std::string& path);

}  // namespace penstock

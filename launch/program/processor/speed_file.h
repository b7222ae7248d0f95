// launch/program/processor/speed_file.h -- keeps the measured speed of a processor in the user's
// cache folder.
#pragma once

#include <optional>
#include <string>

#include "kernels/device_model.h"

namespace penstock {

// The folder penstock in the user's cache folder: $XDG_CACHE_HOME, else ~/.cache. Empty: neither
// variable is set.
[[nodiscard]] std::string cache_folder();

// Reads the speed kept for `key`, which names all that the speed depends on. Each key has a file of
// its own in `folder`, which also holds the key. Nothing where there is no such file, or it is
// damaged, or of another key.
[[nodiscard]] std::optional<ProcessorSpeed> read_speed(const std::string& folder,
                                                       const std::string& key);
// Writes the speed kept for `key`. A file that cannot be written is no error: a later command
// measures again.
void write_speed(const std::string& folder, const std::string& key, const ProcessorSpeed& speed);

}  // namespace penstock

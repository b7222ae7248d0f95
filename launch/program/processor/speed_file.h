// launch/program/processor/speed_file.h -- keeps measured speeds of processors in the user's cache
// folder, so that not every command measures anew (measured_speed.h).
#pragma once

#include <optional>
#include <string>

#include "kernels/device_model.h"

namespace penstock {

// The folder `penstock` in the user's cache folder ($XDG_CACHE_HOME, else ~/.cache). Empty: neither
// that variable nor HOME is set.
[[nodiscard]] std::string cache_folder();

// Reads the speed kept for `key`, a text of all that the speed depends on. Each key has a file of
// its own in `folder`, which repeats the key. Returns nothing where there is no such file, or it is
// damaged, or of another key.
[[nodiscard]] std::optional<ProcessorSpeed> read_speed(const std::string& folder,
                                                       const std::string& key);
// Writes the speed for `key`. Failing to write is no error: a later command measures again.
void write_speed(const std::string& folder, const std::string& key, const ProcessorSpeed& speed);

}  // namespace penstock

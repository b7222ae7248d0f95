// launch/program/processor/speed_file.h -- what was measured of a processor, kept where programs
// keep what they can make again.
#pragma once

#include <optional>
#include <string>

#include "kernels/device_model.h"

namespace penstock {

// penstock in the user's cache folder: XDG_CACHE_HOME, else .cache at home. Empty: there is none.
[[nodiscard]] std::string cache_folder();

// `key` names all that the speed depends on, and is kept in the file beside it; each has a file of
// its own. Nothing where there is no such file, or it is damaged, or of another key.
[[nodiscard]] std::optional<ProcessorSpeed> read_speed(const std::string& folder,
                                                       const std::string& key);
// Writes the speed. A file that cannot be written is no error: the speed is measured again another
// time.
void write_speed(const std::string& folder, const std::string& key, const ProcessorSpeed& speed);

}  // namespace penstock

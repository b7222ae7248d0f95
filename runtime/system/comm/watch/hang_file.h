// runtime/system/comm/watch/hang_file.h -- writes hang-<time>.json to a run directory: what each
// rank did last.
#pragma once

#include <string>

namespace penstock {

// Writes `text` to <folder>/hang-<time>.json; an empty folder: nothing is written. Returns the
// path, or empty when the file cannot be written, or not soon: the file system may be what hangs.
[[nodiscard]] std::string leave_hang_file(const std::string& folder, const std::string& text);

}  // namespace penstock

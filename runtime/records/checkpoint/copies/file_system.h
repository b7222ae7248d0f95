// runtime/records/checkpoint/copies/file_system.h -- which file system a directory lies on.
#pragma once

#include <string>

namespace penstock {

struct FileSystem {
  std::string kind;  // "tmpfs", "ext4", "nfs", ...; "unknown" and its number if not known here
  bool in_memory = false;  // what is written there lies in memory alone
};

// Throws Error(Input) naming `directory` where it is not there or no directory.
[[nodiscard]] FileSystem file_system_of(const std::string& directory);

}  // namespace penstock

// runtime/records/run_directory/place.h -- DirectoryPlace: notices when people move or remove the
// directory at a path while a run goes on.
#pragma once

#include <string>

#include "runtime/system/files/descriptor.h"

namespace penstock {

class DirectoryPlace {
 public:
  // Keeps the directory open; it can still be moved or removed. Throws Error(Resource).
  explicit DirectoryPlace(std::string path);

  // "runs/a was moved to /data/a" or "runs/a was removed"; empty while it is where it was, or the
  // file system does not tell. A file server may tell a few seconds late.
  [[nodiscard]] std::string change() const;

 private:
  std::string path_;
  Descriptor directory_;
};

}  // namespace penstock

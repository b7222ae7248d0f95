// runtime/records/run_directory/place.h -- DirectoryPlace: whether a path still leads to the
// directory that it led to, which people move and remove while a run goes on.
#pragma once

#include <string>

#include "runtime/system/files/descriptor.h"

namespace penstock {

class DirectoryPlace {
 public:
  // Keeps the directory open, which keeps nobody from moving or removing it. Throws
  // Error(Resource).
  explicit DirectoryPlace(std::string path);

  // "runs/a was moved to /data/a" or "runs/a was removed"; empty while it is where it was, and
  // where the file system does not say. A file server may say so a few seconds late.
  [[nodiscard]] std::string change() const;

 private:
  std::string path_;
  Descriptor directory_;
};

}  // namespace penstock

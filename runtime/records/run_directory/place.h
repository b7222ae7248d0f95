// runtime/records/run_directory/place.h -- DirectoryPlace: notices if somebody moves or removes the
// run directory while the run is going on.
#pragma once

#include <string>

#include "runtime/system/files/descriptor.h"

namespace penstock {

class DirectoryPlace {
 public:
  // Opens the directory `path` and keeps it open, which does not keep others from moving or
  // removing it. Throws Error(Resource).
  explicit DirectoryPlace(std::string path);

  // What happened to the directory: "runs/a was moved to /data/a" or "runs/a was removed". Empty
  // while `path` still leads to it, or if that cannot be found out. Over NFS a change may show some
  // seconds late.
  [[nodiscard]] std::string change() const;

 private:
  std::string path_;
  Descriptor directory_;
};

}  // namespace penstock

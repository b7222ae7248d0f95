// runtime/records/hub/atomic_folder.h -- a folder that has another name until all of it is there.
#pragma once

#include <string>

namespace penstock {

class AtomicFolder {
 public:
  // Makes `<folder>.draft-XXXXXX` beside the place where it is to be. Throws Error(Input) where
  // something is there already, Error(Resource) where none can be made.
  explicit AtomicFolder(std::string folder);
  // Removes what was not committed.
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return temporary_; }  // until commit()
  // Throws Error(Input) where something has come there meanwhile.
  void commit();

 private:
  std::string folder_, temporary_;
};

}  // namespace penstock

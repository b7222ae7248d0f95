// runtime/records/hub/atomic_folder.h -- AtomicFolder: a folder that is complete or absent, as it
// has a temporary name until commit().
#pragma once

#include <string>

namespace penstock {

class AtomicFolder {
 public:
  // Makes the temporary folder beside `folder`. Throws Error(Input) where `folder` exists already,
  // Error(Resource) where the temporary one cannot be made.
  explicit AtomicFolder(std::string folder);
  // Removes what was not committed.
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return temporary_; }  // until commit()
  // Renames the temporary folder to `folder`. Throws Error(Input) where that exists by now.
  void commit();

 private:
  std::string folder_, temporary_;
};

}  // namespace penstock

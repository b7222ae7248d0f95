// runtime/records/hub/atomic_folder.h -- AtomicFolder: writes a new folder so that it is complete
// or absent, even after a crash: files go to a temporary folder, which gets its final name at the
// end.
//
//   AtomicFolder folder("exported");  // then write files to folder.path()
//   folder.commit();                  // now "exported" exists, with all of them
#pragma once

#include <string>

namespace penstock {

class AtomicFolder {
 public:
  // Makes the temporary folder beside `folder`, the final path. Throws Error(Input) if `folder`
  // exists, Error(Resource) if the temporary folder cannot be made.
  explicit AtomicFolder(std::string folder);
  // Removes the temporary folder with all files in it, unless commit() was called.
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  // The temporary folder, to which files are written; valid until commit().
  [[nodiscard]] const std::string& path() const { return temporary_; }
  // Renames the temporary folder to the final path, and brings the names of its files and its own
  // name to the disk; the files' bytes are the caller's matter. Throws Error(Input) if somebody has
  // made the final path in the meantime, Error(Resource) if the system cannot rename; the
  // destructor then removes the temporary folder.
  void commit();

 private:
  std::string folder_, temporary_;
};

}  // namespace penstock

// runtime/hub/draft_folder.h -- a folder that has another name until all of it is there.
#pragma once

#include <string>

namespace penstock {

class DraftFolder {
 public:
  // Makes `<folder>.draft-XXXXXX` beside the place where it is to be. Throws Error(Input) where
  // something is there already, Error(Resource) where none can be made.
  explicit DraftFolder(std::string folder);
  // Removes what was not committed.
  ~DraftFolder();
  DraftFolder(const DraftFolder&) = delete;
  DraftFolder& operator=(const DraftFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return draft_; }  // until commit()
  // Throws Error(Input) where something has come there meanwhile.
  void commit();

 private:
  std::string folder_, draft_;
};

}  // namespace penstock

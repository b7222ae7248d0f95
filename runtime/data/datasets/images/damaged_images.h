// runtime/data/datasets/images/damaged_images.h -- DamagedImages: the images that could not be
// decoded so far, and whether there are too many.
#pragma once

#include <mutex>
#include <set>
#include <string>

#include "runtime/data/datasets/dataset.h"
#include "runtime/data/datasets/images/image_folder.h"

namespace penstock {

class DamagedImages {
 public:
  // At most the share `limit` of the folder's files, rounded up, may be damaged. `folder` outlives
  // this.
  DamagedImages(const ImageFolder& folder, double limit, Warn warn);

  // contains() tells whether that image has been added. Both take the index of a file in the folder
  // and are called from several threads.
  [[nodiscard]] bool contains(size_t index) const;
  // Adds the image and warns of it, once, with `why`, the error's text. Throws Error(Data) where
  // more are damaged than may be.
  void add(size_t index, const std::string& why);

 private:
  const ImageFolder& folder_;
  double limit_;
  size_t most_;
  Warn warn_;
  mutable std::mutex mutex_;
  std::set<size_t> indices_;
};

}  // namespace penstock

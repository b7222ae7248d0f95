// runtime/data/datasets/images/damaged_images.h -- DamagedImages: the list of images that could not
// be decoded so far in a run, which ends the run when there are too many (data.on_damage =
// "replace", data.damage_limit).
#pragma once

#include <mutex>
#include <set>
#include <string>

#include "runtime/data/datasets/dataset.h"
#include "runtime/data/datasets/images/image_folder.h"

namespace penstock {

class DamagedImages {
 public:
  // `limit`: the share of the folder's files, in [0, 1], that may be damaged; that number of files
  // is rounded down. `folder` must outlive this object. `warn` may be empty.
  DamagedImages(const ImageFolder& folder, double limit, Warn warn);

  // Whether that image has been added. `index` is that of a file in ImageFolder::files. May be
  // called from several threads, as add() may.
  [[nodiscard]] bool contains(size_t index) const;
  // Adds an image and warns of it; `why` is the text of the error that decoding threw. Does nothing
  // for an image that was added before. Throws Error(Data) if more images are damaged now than may
  // be.
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

// runtime/data/datasets/images/masks.h -- MaskDataset: the pairs of a mask folder as samples for
// segmentation, a class for each pixel.
//
// Fields of a sample: "images" F32 [height, width, channels], as ImageDataset has them; and
// "labels" I32 [height, width], the class of each pixel, or -1 where it is no target. What moves
// pixels (crop, flip) moves both; a pixel from outside the image is no target.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/data/datasets/dataset.h"
#include "runtime/data/datasets/images/augment.h"
#include "runtime/data/datasets/images/mask_folder.h"

namespace penstock {

class MaskDataset final : public Dataset {
 public:
  // Made by open_masks(), which checks the arguments. `image`: the shape that the network takes.
  // `training`: samples are augmented.
  MaskDataset(MaskFolder folder, const Shape& image, const DataConfig& config,
              const MaskNumbers& numbers, bool training);

  [[nodiscard]] int64_t size() const override { return std::ssize(folder_.pairs); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] int64_t targets_per_sample() const override { return image_[0] * image_[1]; }
  // Reads as Dataset::read() says. A damaged file ends the run, whatever data.on_damage says: a
  // rank that reads only labels could not know which sample takes its place.
  void read(int64_t index, const RandomStream& random, std::span<void* const> out) const override;

 private:
  MaskFolder folder_;
  Shape image_;
  DataConfig config_;
  MaskNumbers numbers_;
  bool training_;
  std::vector<Field> fields_;
  Normalisation table_;
};

// Whether opening looks at all masks. One rank does it for all.
enum class MaskLooks : uint8_t { All, None };

// Opens the training and validation sets of data.kind = "masks". `classes`: of the network; 0: as
// many as the training masks have. Throws as open_mask_folder() and look_at_masks() do, and
// Error(Input) naming the key for what does not fit.
[[nodiscard]] Datasets open_masks(const DataConfig& config, const Shape& image, int64_t classes,
                                  MaskLooks looks = MaskLooks::All);

}  // namespace penstock

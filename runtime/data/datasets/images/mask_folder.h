// runtime/data/datasets/images/mask_folder.h -- MaskFolder: the pairs of image and mask of a folder
// or tar archive with `images/<name>.jpg` or `.png` and `masks/<name>.png`; and a look at all masks
// before anything is trained on them.
//
// A mask is a PNG of class numbers, one for each pixel of its image.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/shape.h"
#include "runtime/data/datasets/images/decoding/pixels.h"
#include "runtime/data/datasets/images/image_folder.h"

namespace penstock {

struct MaskPair {
  ImageFile image, mask;
};

struct MaskFolder {
  ImageFolder folder;           // loads the bytes of both
  std::vector<MaskPair> pairs;  // sorted by the name of the image
  // Files that belong to no pair and are not read.
  std::vector<std::string> lone_masks, others;
};

// Throws as open_image_folder() does, and Error(Input) where `images` or `masks` is missing, where
// an image has no mask or shares it with another image, or where a mask is no PNG by its name.
[[nodiscard]] MaskFolder open_mask_folder(const std::string& path, int64_t unpack_limit);

// How masks are to be read: the numbers from 0 to classes - 1 (0: to 255) are classes, and the
// number `ignore` (-1: none) marks pixels that are no target.
struct MaskNumbers {
  int64_t classes = 0, ignore = 255;
};

// What all masks of a folder hold.
struct MaskCensus {
  std::array<int64_t, 256> pixels{};                    // how many have each number
  int64_t resized = 0;                                  // pairs of another size than the network's
  [[nodiscard]] int64_t classes(int64_t ignore) const;  // the largest class number, and one more
};

// Decodes all masks on `threads` threads and reads the size of every image; tells how far it is
// (long_work.h). `image`: the shape that the network takes. Throws Error(Input) naming the file for
// a mask of another size than its image, a number that is no class, or another form of PNG; and
// Error(Data) for a damaged file. Of several the first is named, in the order of the pairs.
[[nodiscard]] MaskCensus look_at_masks(const MaskFolder& folder, const Shape& image,
                                       const MaskNumbers& numbers, int threads);

// The class numbers of a mask, [height, width, 1] of the file. Throws as look_at_masks().
[[nodiscard]] Pixels load_mask(const MaskFolder& folder, const ImageFile& mask,
                               const MaskNumbers& numbers);

// "images      120 images with masks of 5 classes of data/train", and below it a line for what is
// left out, changed or never met.
[[nodiscard]] std::string mask_note(const MaskFolder& folder, const MaskCensus& census,
                                    const MaskNumbers& numbers);

}  // namespace penstock

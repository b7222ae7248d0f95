// runtime/data/datasets/images/images.h -- ImageDataset: an image folder as samples for
// classification; and single image files as a trained network reads them.
//
// Fields of a sample: "images" F32 [height, width, channels], and "labels" I32 [].
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/data/datasets/dataset.h"
#include "runtime/data/datasets/images/augment.h"
#include "runtime/data/datasets/images/damaged_images.h"
#include "runtime/data/datasets/images/image_folder.h"

namespace penstock {

enum class ImageReads : uint8_t { All, Labels };  // the fields that will be read
struct ImagePart {
  bool training = true;  // the training set, which is augmented
  ImageReads reads = ImageReads::All;
};

class ImageDataset final : public Dataset {
 public:
  // `image` is [height, width, channels] of every sample. `warn` (may be empty) is told of every
  // damaged image once, from the thread that reads it. Throws Error(Input) naming data.mean or
  // data.std where it does not fit. open_images() makes the sets and checks all else.
  // With ImageReads::Labels nothing is kept of the folder but the label of each image.
  ImageDataset(ImageFolder folder, const Shape& image, DataConfig config, ImagePart part,
               Warn warn);

  [[nodiscard]] int64_t size() const override { return static_cast<int64_t>(labels_.size()); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] int64_t targets_per_sample() const override { return 1; }
  // Reads as Dataset says. The next good image of its class, in the order of the folder, takes the
  // place of a damaged one: every rank finds the same, and the label stays, so ranks that read
  // labels alone decode nothing. Throws Error(Data) naming the file with data.on_damage = "stop",
  // and above data.damage_limit.
  void read(int64_t index, const RandomStream& random, std::span<void* const> out) const override;

  [[nodiscard]] const ImageFolder& folder() const { return folder_; }

 private:
  // Decoded images, kept for later epochs where the whole set is small.
  struct Cache {
    enum State : uint8_t { Missing, BeingWritten, Ready };
    std::unique_ptr<uint8_t[]> pixels;              // [size, image...]; touched as it fills
    std::unique_ptr<std::atomic<uint8_t>[]> state;  // of each image
  };

  [[nodiscard]] std::vector<uint8_t> decode(const ImageFile& file) const;
  // The pixels of the image, or of the one that replaces it.
  [[nodiscard]] std::vector<uint8_t> pixels_of(size_t index) const;
  void read_image(size_t index, const RandomStream& random, std::span<float> out) const;

  ImageFolder folder_;
  std::vector<int32_t> labels_;  // of each image, in the order of the folder
  Shape image_;
  DataConfig config_;
  ImagePart part_;
  std::vector<Field> fields_;
  Normalisation table_;
  Cache cache_;  // empty where the set is too large
  std::unique_ptr<DamagedImages> damaged_;
};

// Decodes a PNG or JPEG as a network that was trained on images of the shape `image` reads it:
// overwrites `out`, of that shape, as ImageDataset does without augmentation.
// Throws Error(Data) naming `name` for what is no image.
void read_image_file(std::span<const uint8_t> bytes, const std::string& name, const Shape& image,
                     const DataConfig& config, std::span<float> out);

// Opens data.train and data.validation. Throws as open_image_folder() does, and Error(Input) where
// the classes of the two sets differ, where they are fewer than two, and for a class of
// data.leave_out that is in neither.
[[nodiscard]] Datasets open_images(const DataConfig& config, const Shape& image,
                                   const Warn& warn = {}, ImageReads reads = ImageReads::All);

}  // namespace penstock

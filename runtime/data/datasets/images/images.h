// runtime/data/datasets/images/images.h -- ImageDataset: the images of an image folder as samples
// for classification; and read_image_file(), which prepares a single image file for a trained
// network.
//
// Fields of a sample: "images" F32 [height, width, channels], decoded, brought to the network's
// size, augmented if for training, and normalised; and "labels" I32 [], the number of the class.
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

// The fields that this rank will read: both, or "labels" alone, for which no image is opened.
enum class ImageReads : uint8_t { All, Labels };
struct ImagePart {
  bool training = true;  // this is the training set, whose images are augmented
  ImageReads reads = ImageReads::All;
};

class ImageDataset final : public Dataset {
 public:
  // Made by open_images(), which checks the arguments. `image` is the shape that the network takes,
  // of 1 or 3 channels. `warn` (may be empty) is called once for every damaged image, from the
  // thread that reads it. With ImageReads::Labels nothing is kept of the folder but the label of
  // each image. Throws Error(Input) naming data.mean or data.std where it does not fit the
  // channels.
  ImageDataset(ImageFolder folder, const Shape& image, DataConfig config, ImagePart part,
               Warn warn);

  [[nodiscard]] int64_t size() const override { return static_cast<int64_t>(labels_.size()); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] int64_t targets_per_sample() const override { return 1; }
  // Reads as Dataset::read() says. With data.on_damage = "replace" a damaged image is replaced by
  // the next good image of its class in the order of the folder, so that every rank finds the same
  // one, and the label stays right for ranks that decode nothing. Throws Error(Data) naming the
  // file for a damaged image with data.on_damage = "stop", or when more are damaged than
  // data.damage_limit allows.
  void read(int64_t index, const RandomStream& random, std::span<void* const> out) const override;

  [[nodiscard]] const ImageFolder& folder() const { return folder_; }

 private:
  // Decoded images, kept for later epochs if all of them take at most 1 GiB.
  struct Cache {
    enum State : uint8_t { Missing, BeingWritten, Ready };
    std::unique_ptr<uint8_t[]> pixels;  // [size(), image shape], filled as images are read
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

// Throws Error(Input) naming the key where the network's `image` or what `config` says of
// augmentation does not suit images.
void check_images(const DataConfig& config, const Shape& image);

// Decodes a PNG or JPEG file, by what it is and not by its name, and brings it to the shape
// `image`. Throws Error(Data) naming `name`, the file, if it is no image or is damaged.
[[nodiscard]] std::vector<uint8_t> decode_image(std::span<const uint8_t> bytes,
                                                const std::string& name, const Shape& image);

// Does with one PNG or JPEG file what ImageDataset does without augmentation: decodes `bytes`,
// brings the image to the shape `image`, normalises it and overwrites `out`, of that shape. Throws
// Error(Data) naming `name`, the file, if it is no image or is damaged.
void read_image_file(std::span<const uint8_t> bytes, const std::string& name, const Shape& image,
                     const DataConfig& config, std::span<float> out);

// Opens the training and validation sets of data.kind = "images". Throws as open_image_folder()
// does, and Error(Input) naming the key for what does not fit: sets of different classes, fewer
// than two classes, a class of data.leave_out that neither set has, a share as data.validation.
[[nodiscard]] Datasets open_images(const DataConfig& config, const Shape& image,
                                   const Warn& warn = {}, ImageReads reads = ImageReads::All);

}  // namespace penstock

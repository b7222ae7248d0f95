#include "runtime/data/datasets/images/masks.h"

#include <memory>
#include <optional>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/datasets/images/folder_note.h"
#include "runtime/data/datasets/images/images.h"
#include "runtime/data/datasets/share.h"

namespace penstock {
namespace {

void check_classes(const MaskNumbers& numbers, const std::string& path) {
  if (numbers.classes < 2) {
    fail_input("the masks of " + path + " have no class but 0: a network needs at least 2");
  }
  if (numbers.ignore >= 0 && numbers.ignore < numbers.classes) {
    fail_input("data.ignore = " + std::to_string(numbers.ignore) + " is one of the classes 0 to " +
               std::to_string(numbers.classes - 1) +
               ": give data.ignore = -1 if every pixel is a target, or fewer classes");
  }
}

}  // namespace

MaskDataset::MaskDataset(MaskFolder folder, const Shape& image, const DataConfig& config,
                         const MaskNumbers& numbers, bool training)
    : folder_(std::move(folder)),
      image_(image),
      config_(config),
      numbers_(numbers),
      training_(training),
      fields_{{"images", image, DType::F32}, {"labels", {image[0], image[1]}, DType::I32}},
      table_(normalisation(config, image[2])) {}

void MaskDataset::read(int64_t index, const RandomStream& random,
                       std::span<void* const> out) const {
  const MaskPair& pair = folder_.pairs[static_cast<size_t>(index)];
  const Augmentation moved =
      training_ ? draw_augmentation(config_, image_, random) : Augmentation{};
  if (out[0] != nullptr) {
    const std::string name = folder_.folder.name_of(pair.image);
    render({static_cast<float*>(out[0]), static_cast<size_t>(image_.elements())},
           decode_image(folder_.folder.load(pair.image), name, image_), image_, moved, table_);
  }
  if (out[1] != nullptr) {
    const Pixels mask =
        fitted_numbers(load_mask(folder_, pair.mask, numbers_), image_[0], image_[1]);
    render_labels({static_cast<int32_t*>(out[1]), mask.bytes.size()}, mask.bytes, image_, moved,
                  numbers_.ignore);
  }
}

Datasets open_masks(const DataConfig& config, const Shape& image, int64_t classes,
                    MaskLooks looks) {
  check_images(config, image);
  if (share_of(config.validation)) {
    fail_input("data.validation = " + config.validation +
               ": images are not split; give a second folder or archive");
  }
  Datasets sets;
  MaskNumbers numbers{classes, config.ignore};
  const auto open = [&](const std::string& path, bool training) {
    MaskFolder folder = open_mask_folder(path, config.unpack_limit);
    if (looks == MaskLooks::All) {
      const MaskCensus census = look_at_masks(folder, image, numbers, config.cut_threads);
      if (numbers.classes == 0) numbers.classes = census.classes(numbers.ignore);
      check_classes(numbers, path);
      if (!sets.note.empty()) sets.note += '\n';
      sets.note += mask_note(folder, census, numbers) + turned_note(folder.folder);
    }
    return std::make_shared<MaskDataset>(std::move(folder), image, config, numbers, training);
  };
  sets.train = open(config.train, true);
  sets.classes = numbers.classes;
  if (!config.validation.empty()) sets.validation = open(config.validation, false);
  return sets;
}

}  // namespace penstock

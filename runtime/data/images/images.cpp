#include "runtime/data/images/images.h"

#include <algorithm>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/images/folder_note.h"
#include "runtime/data/images/jpeg.h"
#include "runtime/data/images/png.h"
#include "runtime/data/share.h"

namespace penstock {
namespace {

constexpr int64_t kLargestCacheBytes = int64_t{1} << 30;

void check_images(const DataConfig& config, const Shape& image) {
  if (image.rank() != 3 || image.elements() == 0 || (image[2] != 1 && image[2] != 3)) {
    fail_input("data.kind = \"images\" needs a model that reads images of 1 or 3 channels");
  }
  const int64_t side = std::min(image[0], image[1]);
  if (config.crop_padding < 0 || config.crop_padding >= side) {
    fail_input("data.crop_padding = " + std::to_string(config.crop_padding) +
               " does not fit images of side " + std::to_string(side));
  }
  if (config.cutout < 0) fail_input("data.cutout must not be negative");
}

// Of memory that a user can spare: the archive need only be unpacked.
std::string note_on(const ImageFolder& folder) {
  constexpr size_t kNoteworthyBytes = size_t{64} << 20;
  if (folder.held.size() < kNoteworthyBytes) return {};
  return "note: " + folder.path + " is compressed, so every rank that reads images holds all " +
         std::to_string(folder.held.size() >> 20) +
         " MiB of it; a plain .tar is read where it is, by ranges";
}

// By what the file is, not by what it is called.
std::vector<uint8_t> pixels_in(std::span<const uint8_t> bytes, const std::string& name,
                               const Shape& image) {
  Pixels pixels = is_png(bytes) ? decode_png(bytes, image[2], name)
                                : decode_jpeg(bytes, image[2], image[0], image[1], name);
  return fitted(std::move(pixels), image[0], image[1]).bytes;
}

}  // namespace

void read_image_file(std::span<const uint8_t> bytes, const std::string& name, const Shape& image,
                     const DataConfig& config, std::span<float> out) {
  render(out, pixels_in(bytes, name, image), image, {}, normalisation(config, image[2]));
}

ImageDataset::ImageDataset(ImageFolder folder, const Shape& image, DataConfig config,
                           ImagePart part, Warn warn)
    : folder_(std::move(folder)),
      image_(image),
      config_(std::move(config)),
      part_(part),
      fields_{{"images", image, DType::F32}, {"labels", {}, DType::I32}} {
  labels_.reserve(folder_.files.size());
  for (const ImageFile& file : folder_.files) labels_.push_back(file.label);
  table_ = normalisation(config_, image[2]);
  if (part.reads == ImageReads::Labels) {
    folder_.files = {};
    folder_.archive = nullptr;
    return;
  }
  damaged_ = std::make_unique<DamagedImages>(folder_, config_.damage_limit, std::move(warn));
  if (image.elements() > kLargestCacheBytes / size()) return;
  const auto n = static_cast<size_t>(size());
  cache_.pixels =
      std::make_unique_for_overwrite<uint8_t[]>(n * static_cast<size_t>(image.elements()));
  cache_.state = std::make_unique<std::atomic<uint8_t>[]>(n);
}

void ImageDataset::read(int64_t index, const RandomStream& random,
                        std::span<void* const> out) const {
  const auto i = static_cast<size_t>(index);
  if (out[0] != nullptr) {
    if (part_.reads == ImageReads::Labels) fail_internal("images were opened for their labels");
    read_image(i, random, {static_cast<float*>(out[0]), static_cast<size_t>(image_.elements())});
  }
  if (out[1] != nullptr) *static_cast<int32_t*>(out[1]) = labels_[i];
}

std::vector<uint8_t> ImageDataset::decode(const ImageFile& file) const {
  return pixels_in(folder_.load(file), folder_.name_of(file), image_);
}

std::vector<uint8_t> ImageDataset::pixels_of(size_t index) const {
  if (config_.on_damage == "stop") return decode(folder_.files[index]);
  const size_t n = folder_.files.size();
  for (size_t step = 0; step < n; ++step) {
    const size_t candidate = (index + step) % n;
    if (folder_.files[candidate].label != folder_.files[index].label) continue;
    if (damaged_->contains(candidate)) continue;
    try {
      return decode(folder_.files[candidate]);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Data) throw;
      damaged_->add(candidate, error.what());
    }
  }
  fail_data(folder_.path + " has no image of the class '" +
            folder_.classes[static_cast<size_t>(folder_.files[index].label)] +
            "' that is not damaged: repair it, or leave the class out with data.leave_out");
}

void ImageDataset::read_image(size_t index, const RandomStream& random,
                              std::span<float> out) const {
  const Augmentation augmentation =
      part_.training ? draw_augmentation(config_, image_, random) : Augmentation{};
  if (cache_.state == nullptr) {
    render(out, pixels_of(index), image_, augmentation, table_);
    return;
  }
  const std::span cached(cache_.pixels.get() + index * out.size(), out.size());
  std::atomic<uint8_t>& state = cache_.state[index];
  if (state.load(std::memory_order_acquire) != Cache::Ready) {
    const std::vector<uint8_t> pixels = pixels_of(index);
    uint8_t missing = Cache::Missing;
    if (!state.compare_exchange_strong(missing, Cache::BeingWritten)) {
      // Another thread is writing the same pixels; ours serve this sample.
      render(out, pixels, image_, augmentation, table_);
      return;
    }
    std::ranges::copy(pixels, cached.begin());
    state.store(Cache::Ready, std::memory_order_release);
  }
  render(out, cached, image_, augmentation, table_);
}

Datasets open_images(const DataConfig& config, const Shape& image, const Warn& warn,
                     ImageReads reads) {
  check_images(config, image);
  if (share_of(config.validation)) {
    fail_input("data.validation = " + config.validation +
               ": images are not split; give a second folder or archive");
  }
  const auto open = [&](const std::string& path) {
    ImageFolder folder =
        open_image_folder(path, config.unpack_limit,
                          reads == ImageReads::All ? ImageBytes::Held : ImageBytes::LeftOut);
    leave_out(folder, config.leave_out);
    return folder;
  };
  Datasets sets;
  const auto make = [&](ImageFolder folder, bool training) {
    return std::make_shared<ImageDataset>(std::move(folder), image, config,
                                          ImagePart{training, reads}, warn);
  };
  const auto train = make(open(config.train), true);
  sets.train = train;
  sets.note = folder_note(train->folder());
  if (const std::string held = note_on(train->folder()); !held.empty()) sets.note += "\n" + held;
  sets.labels = train->folder().classes;
  sets.classes = static_cast<int64_t>(sets.labels.size());
  if (config.validation.empty()) return sets;

  ImageFolder validation = open(config.validation);
  if (validation.classes != sets.labels) {
    fail_input("the classes of " + config.train + " (" + std::to_string(sets.classes) + ": " +
               class_list(sets.labels) + ") and of " + config.validation + " (" +
               std::to_string(validation.classes.size()) + ": " + class_list(validation.classes) +
               ") are not the same");
  }
  sets.note += "\n" + folder_note(validation);
  sets.validation = make(std::move(validation), false);
  return sets;
}

}  // namespace penstock

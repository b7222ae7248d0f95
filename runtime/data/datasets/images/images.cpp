#include "runtime/data/datasets/images/images.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "kernels/error.h"
#include "kernels/suggest.h"
#include "runtime/data/datasets/images/decoding/file_kind.h"
#include "runtime/data/datasets/images/decoding/jpeg.h"
#include "runtime/data/datasets/images/decoding/png.h"
#include "runtime/data/datasets/images/folder_note.h"
#include "runtime/data/datasets/share.h"

namespace penstock {
namespace {

constexpr int64_t kLargestCacheBytes = int64_t{1} << 30;

// A note on memory that a user can save by unpacking the archive; empty where it is not worth one.
std::string note_on(const ImageFolder& folder) {
  constexpr size_t kNoteworthyBytes = size_t{64} << 20;
  if (folder.held.size() < kNoteworthyBytes) return {};
  return "note: " + folder.path + " is compressed, so every rank that reads images holds all " +
         std::to_string(folder.held.size() >> 20) +
         " MiB of it; a plain .tar is read where it is, by ranges";
}

void refuse_one_class(const ImageFolder& folder) {
  if (folder.classes.size() > 1) return;
  fail_input(folder.path + " has one class only, '" + folder.classes.front() +
             "': give the folder above the class folders");
}

bool has_class(const ImageFolder& folder, const std::string& name) {
  return std::ranges::find(folder.classes, name) != folder.classes.end();
}

// `validation` may be null. A class need not be in both.
void leave_out_of(ImageFolder& train, ImageFolder* validation,
                  const std::vector<std::string>& classes) {
  for (const std::string& name : classes) {
    if (has_class(train, name) || (validation != nullptr && has_class(*validation, name))) continue;
    fail_input("data.leave_out: " + train.path + " has no class '" + name + "'" +
               did_you_mean(name, train.classes));
  }
  const size_t before = train.classes.size();
  leave_out(train, classes);
  if (validation != nullptr) leave_out(*validation, classes);
  if (train.classes.size() > 1) return;
  fail_input("data.leave_out leaves " + std::to_string(train.classes.size()) + " of the " +
             std::to_string(before) + " classes of " + train.path + ": at least two must stay");
}

// "; data/val lacks cat, dog": the classes of `all` that it does not have.
std::string lacking(const ImageFolder& folder, const ImageFolder& all) {
  std::vector<std::string> missing;
  std::ranges::set_difference(all.classes, folder.classes, std::back_inserter(missing));
  return missing.empty() ? "" : "; " + folder.path + " lacks " + some_of(missing);
}

void refuse_other_classes_than(const ImageFolder& train, const ImageFolder& validation) {
  if (validation.classes == train.classes) return;
  fail_input("the classes of data.train (" + train.path + ", " +
             std::to_string(train.classes.size()) + ") and of data.validation (" + validation.path +
             ", " + std::to_string(validation.classes.size()) + ") are not the same" +
             lacking(validation, train) + lacking(train, validation) +
             ": give both the same class folders, or leave classes out by data.leave_out");
}

}  // namespace

void check_images(const DataConfig& config, const Shape& image) {
  if (image.rank() != 3 || image.elements() == 0 || (image[2] != 1 && image[2] != 3)) {
    fail_input("data.kind = \"" + config.kind +
               "\" needs a model that reads images of 1 or 3 channels");
  }
  const int64_t side = std::min(image[0], image[1]);
  if (config.crop_padding < 0 || config.crop_padding >= side) {
    fail_input("data.crop_padding = " + std::to_string(config.crop_padding) +
               " does not fit images of side " + std::to_string(side));
  }
  if (config.cutout < 0) fail_input("data.cutout must not be negative");
}

std::vector<uint8_t> decode_image(std::span<const uint8_t> bytes, const std::string& name,
                                  const Shape& image) {
  if (!is_png(bytes) && !is_jpeg(bytes)) refuse_other_kind(bytes, name);
  Pixels pixels = is_png(bytes) ? decode_png(bytes, image[2], name)
                                : decode_jpeg(bytes, image[2], image[0], image[1], name);
  return fitted(std::move(pixels), image[0], image[1]).bytes;
}

void read_image_file(std::span<const uint8_t> bytes, const std::string& name, const Shape& image,
                     const DataConfig& config, std::span<float> out) {
  render(out, decode_image(bytes, name, image), image, {}, normalisation(config, image[2]));
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
  return decode_image(folder_.load(file), folder_.name_of(file), image_);
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
    return open_image_folder(path, config.unpack_limit,
                             reads == ImageReads::All ? ImageBytes::Held : ImageBytes::LeftOut);
  };
  ImageFolder train = open(config.train);
  refuse_one_class(train);
  std::optional<ImageFolder> validation;
  if (!config.validation.empty()) validation = open(config.validation);
  leave_out_of(train, validation ? &*validation : nullptr, config.leave_out);
  if (validation) refuse_other_classes_than(train, *validation);
  Datasets sets;
  const auto tell = [&](const ImageFolder& folder) {
    if (!sets.note.empty()) sets.note += '\n';
    sets.note += folder_note(folder);
    if (reads == ImageReads::All) sets.note += turned_note(folder);
    if (const std::string held = note_on(folder); !held.empty()) {
      sets.note.append("\n").append(held);
    }
  };
  const auto make = [&](ImageFolder folder, bool training) {
    return std::make_shared<ImageDataset>(std::move(folder), image, config,
                                          ImagePart{training, reads}, warn);
  };
  tell(train);
  if (validation) tell(*validation);
  sets.labels = train.classes;
  sets.classes = static_cast<int64_t>(sets.labels.size());
  sets.train = make(std::move(train), true);
  if (validation) sets.validation = make(std::move(*validation), false);
  return sets;
}

}  // namespace penstock

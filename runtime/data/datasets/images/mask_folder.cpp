#include "runtime/data/datasets/images/mask_folder.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "kernels/error.h"
#include "runtime/data/datasets/images/decoding/extent.h"
#include "runtime/data/datasets/images/decoding/file_kind.h"
#include "runtime/data/datasets/images/decoding/png.h"
#include "runtime/data/datasets/images/folder_note.h"
#include "runtime/data/tokens/in_order.h"
#include "runtime/system/files/long_work.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLayout = "images/<name>.jpg or .png with masks/<name>.png";

std::string stem_of(const ImageFile& file) {
  return fs::path(file.name).stem().string();
}

std::string folder_of(const ImageFile& file) {
  return fs::path(file.name).parent_path().filename().string();
}

bool is_png_by_name(const ImageFile& file) {
  std::string ending = fs::path(file.name).extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](char c) { return static_cast<char>(c | 0x20); });
  return ending == ".png";
}

// The masks by the stem of their names.
std::map<std::string, ImageFile> masks_in(const ImageFolder& folder) {
  std::map<std::string, ImageFile> masks;
  for (const ImageFile& file : folder.files) {
    if (folder_of(file) != "masks") continue;
    if (!is_png_by_name(file)) {
      fail_input(folder.name_of(file) +
                 " is no mask: a mask is a PNG, for JPEG changes class numbers");
    }
    const auto [other, is_new] = masks.emplace(stem_of(file), file);
    if (!is_new) {
      fail_input(folder.name_of(file) + " and " + other->second.name +
                 " are masks of one image: remove one of them");
    }
  }
  return masks;
}

void refuse_without(const ImageFolder& folder, const std::string& name) {
  if (std::ranges::find(folder.classes, name) != folder.classes.end()) return;
  fail_input(folder.path + " has no files in " + name + "/, but in " + class_list(folder.classes) +
             "/: data.kind = \"masks\" needs " + kLayout +
             "; rename the folder, or make a link of that name to it");
}

// Refuses numbers that are no classes, and says where the first one is.
void check_numbers(const Pixels& mask, const std::string& name, const MaskNumbers& numbers) {
  if (numbers.classes == 0) return;
  const auto is_wrong = [&](uint8_t value) {
    return value >= numbers.classes && value != numbers.ignore;
  };
  const auto wrong = std::ranges::find_if(mask.bytes, is_wrong);
  if (wrong == mask.bytes.end()) return;
  const int64_t at = wrong - mask.bytes.begin();
  fail_input(name + " has the class number " + std::to_string(*wrong) + " in row " +
             std::to_string(at / mask.width) + ", column " + std::to_string(at % mask.width) +
             ", and the network tells classes 0 to " + std::to_string(numbers.classes - 1) +
             ": give model.classes = " + std::to_string(*wrong + 1) +
             " or more, or 0 for those of the masks, or data.ignore = " + std::to_string(*wrong));
}

// What one mask holds.
struct MaskLook {
  std::array<int64_t, 256> pixels{};
  bool is_resized = false;
};

Extent image_extent(const ImageFolder& folder, const ImageFile& image) {
  if (const auto extent = extent_of(folder.beginning(image, kExtentBytes))) return *extent;
  const std::vector<uint8_t> all = folder.load(image);
  if (const auto extent = extent_of(all)) return *extent;
  if (!is_jpeg(all) && !is_png(all)) refuse_other_kind(all, folder.name_of(image));
  fail_data(folder.name_of(image) + " does not say its size: repair or remove the file");
}

MaskLook look_at(const MaskFolder& folder, const MaskPair& pair, const Shape& image,
                 const MaskNumbers& numbers) {
  const Pixels mask = load_mask(folder, pair.mask, numbers);
  const Extent of_image = image_extent(folder.folder, pair.image);
  const Extent of_mask{mask.height, mask.width};
  if (of_mask != of_image) {
    fail_input(folder.folder.name_of(pair.mask) + " is " + extent_text(of_mask) +
               ", and its image " + pair.image.name + " " + extent_text(of_image) +
               ": a mask has a number for each pixel of its image");
  }
  MaskLook look;
  look.is_resized = of_mask != Extent{image[0], image[1]};
  for (const uint8_t number : mask.bytes) ++look.pixels[number];
  return look;
}

// The class numbers below `classes` that no mask has.
std::vector<std::string> never_met(const MaskCensus& census, int64_t classes) {
  std::vector<std::string> missing;
  for (int64_t c = 0; c < classes; ++c) {
    if (c > 255 || census.pixels[static_cast<size_t>(c)] == 0) missing.push_back(std::to_string(c));
  }
  return missing;
}

}  // namespace

int64_t MaskCensus::classes(int64_t ignore) const {
  for (int64_t number = std::ssize(pixels) - 1; number >= 0; --number) {
    if (number != ignore && pixels[static_cast<size_t>(number)] > 0) return number + 1;
  }
  return 0;
}

MaskFolder open_mask_folder(const std::string& path, int64_t unpack_limit) {
  MaskFolder set;
  set.folder = open_image_folder(path, unpack_limit, ImageBytes::Held, kLayout);
  for (const char* needed : {"images", "masks"}) refuse_without(set.folder, needed);
  std::map<std::string, ImageFile> masks = masks_in(set.folder);
  for (const ImageFile& file : set.folder.files) {
    if (folder_of(file) != "images") {
      if (folder_of(file) != "masks") set.others.push_back(file.name);
      continue;
    }
    const auto mask = masks.find(stem_of(file));
    if (mask == masks.end() && !set.pairs.empty() &&
        stem_of(set.pairs.back().image) == stem_of(file)) {
      fail_input(set.folder.name_of(file) + " and " + set.pairs.back().image.name +
                 " have one mask: give them names of their own");
    }
    if (mask == masks.end()) {
      fail_input(set.folder.name_of(file) + " has no mask: it must be masks/" + stem_of(file) +
                 ".png; add it, or remove the image");
    }
    set.pairs.push_back({file, mask->second});
    masks.erase(mask);
  }
  for (const auto& [stem, mask] : masks) set.lone_masks.push_back(mask.name);
  return set;
}

Pixels load_mask(const MaskFolder& folder, const ImageFile& mask, const MaskNumbers& numbers) {
  const std::vector<uint8_t> bytes = folder.folder.load(mask);
  const std::string name = folder.folder.name_of(mask);
  if (is_jpeg(bytes)) fail_input(name + " is a JPEG inside: a mask is a PNG of class numbers");
  if (!is_png(bytes)) refuse_other_kind(bytes, name);
  Pixels pixels = decode_numbers(bytes, name);
  check_numbers(pixels, name, numbers);
  return pixels;
}

MaskCensus look_at_masks(const MaskFolder& folder, const Shape& image, const MaskNumbers& numbers,
                         int threads) {
  using Looks = InOrder<const MaskPair*, MaskLook>;
  constexpr int64_t kOnePair = int64_t{1} << 16;  // what counts as the work of a pair
  LongWork work("looking at the masks of " + folder.folder.path,
                kOnePair * std::ssize(folder.pairs));
  MaskCensus census;
  const auto read = [&](const Looks::Give& give) {
    for (const MaskPair& pair : folder.pairs) give(&pair, kOnePair);
  };
  const auto make = [&](const MaskPair* pair) { return look_at(folder, *pair, image, numbers); };
  const auto take = [&](const MaskLook& look) {
    for (size_t i = 0; i < look.pixels.size(); ++i) census.pixels[i] += look.pixels[i];
    census.resized += look.is_resized ? 1 : 0;
    work.went_on(kOnePair);
  };
  Looks::run(threads, read, make, take);
  return census;
}

std::string mask_note(const MaskFolder& folder, const MaskCensus& census,
                      const MaskNumbers& numbers) {
  std::string note = "images      " + std::to_string(folder.pairs.size()) +
                     " images with masks of " + std::to_string(numbers.classes) + " classes of " +
                     folder.folder.path;
  const auto add = [&](const std::string& line) { note += "\n            " + line; };
  int64_t all = 0;
  for (const int64_t count : census.pixels) all += count;
  const int64_t ignored =
      numbers.ignore < 0 ? 0 : census.pixels[static_cast<size_t>(numbers.ignore)];
  if (ignored > 0) {
    std::array<char, 32> share{};
    std::snprintf(share.data(), share.size(), "%.1f",
                  100.0 * static_cast<double>(ignored) / static_cast<double>(all));
    add("pixels that are no target, for they are data.ignore = " + std::to_string(numbers.ignore) +
        ": " + share.data() + " %");
  }
  const std::vector<std::string> missing = never_met(census, numbers.classes);
  if (!missing.empty()) add("classes that no mask has: " + some_of(missing));
  if (census.resized > 0) {
    add("cut to the middle and resampled, for they are not of the size of model.image: " +
        std::to_string(census.resized));
  }
  if (!folder.lone_masks.empty()) {
    add("masks without an image, which are not read: " + some_of(folder.lone_masks));
  }
  if (!folder.others.empty()) {
    add("files in other folders than images and masks, which are not read: " +
        some_of(folder.others));
  }
  return note + passed_over_note(folder.folder);
}

}  // namespace penstock

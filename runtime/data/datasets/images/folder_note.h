// runtime/data/datasets/images/folder_note.h -- what is said of an image folder when a run starts:
// how much there is, which classes, and what is not read.
#pragma once

#include <string>
#include <vector>

#include "runtime/data/datasets/images/image_folder.h"

namespace penstock {

// "50000 images in 2 classes of data/pets: cat, dog", up to twenty of them by name; and a line for
// each kind of what is not read.
[[nodiscard]] std::string folder_note(const ImageFolder& folder);

// Behind that note: how many are turned or mirrored by EXIF, where any are; of more than 1000
// images a thousand are looked at, spread evenly. Reads the beginning of each.
[[nodiscard]] std::string turned_note(const ImageFolder& folder);

// "20 .bmp, 1 without an ending, 2 hidden"; empty where everything is read. By number, the most
// first, at most ten endings.
[[nodiscard]] std::string not_read(const PassedOver& files);

// "cat, dog"; of more than `most` the first and the last.
[[nodiscard]] std::string class_list(const std::vector<std::string>& classes, size_t most = 20);

// "cat, dog"; of more than ten the first ten, "and 3 others".
[[nodiscard]] std::string some_of(const std::vector<std::string>& names);

}  // namespace penstock

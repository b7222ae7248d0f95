// runtime/data/datasets/images/folder_note.h -- what is said of an image folder when a run starts:
// how much there is, which classes, and what is not read.
#pragma once

#include <string>
#include <vector>

#include "runtime/data/datasets/images/image_folder.h"

namespace penstock {

// "50000 images in 2 classes of data/pets: cat, dog", and a line for each kind of what is not read.
// Of more than twenty classes only the first and the last are named.
[[nodiscard]] std::string folder_note(const ImageFolder& folder);

// A line to append to folder_note(): how many images EXIF asks to turn or mirror; empty for none.
// Reads the beginning of each image, or, of more than 1000, of a thousand spread evenly.
[[nodiscard]] std::string turned_note(const ImageFolder& folder);

// "20 .bmp, 1 without an ending, 2 hidden": the commonest first, at most ten endings; empty where
// everything is read.
[[nodiscard]] std::string not_read(const PassedOver& files);

// "cat, dog"; only the first and the last where there are more than `most`.
[[nodiscard]] std::string class_list(const std::vector<std::string>& classes, size_t most = 20);

// "cat, dog"; the first ten "and 3 others" where there are more than ten.
[[nodiscard]] std::string some_of(const std::vector<std::string>& names);

}  // namespace penstock

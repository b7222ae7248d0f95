// runtime/data/datasets/images/folder_note.h -- the lines that tell a user about an image folder
// when a run starts: how many images, which classes, and which files are not read.
#pragma once

#include <string>
#include <vector>

#include "runtime/data/datasets/images/image_folder.h"

namespace penstock {

// "images      50000 images in 2 classes of data/pets: cat, dog", and below it a line for each kind
// of thing that is not read (PassedOver in image_folder.h). Of more than twenty classes only the
// first and the last are named.
[[nodiscard]] std::string folder_note(const ImageFolder& folder);

// The lines below the first of folder_note() alone, each with a line break before it.
[[nodiscard]] std::string passed_over_note(const ImageFolder& folder);

// A line to append to folder_note(): how many images ask by EXIF to be shown turned or mirrored,
// which is not done; empty if none does. Reads the beginning of each image or, if there are more
// than 1000, of 1000 of them that are spread evenly.
[[nodiscard]] std::string turned_note(const ImageFolder& folder);

// Files that are not read, by the ending of their names, as "20 .bmp, 1 without an ending, 2
// hidden": the commonest ending first, at most ten of them; empty where all files are read.
[[nodiscard]] std::string not_read(const PassedOver& files);

// A list like "cat, dog"; "ant to zebra", the first and the last, where there are more than `most`.
[[nodiscard]] std::string class_list(const std::vector<std::string>& classes, size_t most = 20);

// A list like "cat, dog"; where there are more than ten, the first ten "and 3 others".
[[nodiscard]] std::string some_of(const std::vector<std::string>& names);

}  // namespace penstock

// runtime/data/parts/part.h -- Part: the optional parts of a build (tokenizers, images), and the
// error where something needs a part that this program was built without.
//
// A part is left out by an option of CMake (cmake/PenstockParts.cmake), so that its libraries need
// not be there. Then no_tokenizers.cpp or no_images.cpp here is compiled instead of the files that
// call the libraries: it defines the same functions, which call fail_without().
#pragma once

#include <string>

namespace penstock {

struct Part {
  const char* name;
  const char* debian;  // the Debian packages of its libraries, with spaces between
  const char* option;  // the option of CMake that switches it on or off
};
// Word pieces (SentencePiece) and the tokenizers of published folders (PCRE2, ICU).
inline constexpr Part kTokenizers{"tokenizers", "libsentencepiece-dev libpcre2-dev libicu-dev",
                                  "PENSTOCK_TOKENIZERS"};
// JPEG, PNG, tar archives, and compressed files of any kind, texts included (libarchive).
inline constexpr Part kImages{"images", "libarchive-dev libjpeg-dev libpng-dev", "PENSTOCK_IMAGES"};

// Throws Error(Resource): "<wanted> needs the part 'images', and this program was built without it:
// ...", with what to install. `wanted` is what the user asked for, such as a file.
[[noreturn]] void fail_without(const Part& part, const std::string& wanted);

}  // namespace penstock

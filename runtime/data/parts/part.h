// runtime/data/parts/part.h -- the parts that a build may do without (cmake/PenstockParts.cmake).
// Beside the files that call a part's libraries stands one file here, no_<part>.cpp, that is
// compiled where the part is left out: it defines the same functions, which throw the sentence
// below.
#pragma once

#include <string>

namespace penstock {

struct Part {
  const char* name;
  const char* debian;  // the packages of its libraries there
  const char* option;  // of CMake
};
// How texts become tokens by word pieces (SentencePiece), and by tokenizers of published folders
// (PCRE2, ICU).
inline constexpr Part kTokenizers{"tokenizers", "libsentencepiece-dev libpcre2-dev libicu-dev",
                                  "PENSTOCK_TOKENIZERS"};
// JPEG, PNG, and packed files, of texts as well (libarchive).
inline constexpr Part kImages{"images", "libarchive-dev libjpeg-dev libpng-dev", "PENSTOCK_IMAGES"};

// Throws Error(Resource): "`wanted` needs the part 'images', and this program was built without
// it: ...".
[[noreturn]] void fail_without(const Part& part, const std::string& wanted);

}  // namespace penstock

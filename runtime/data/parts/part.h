// runtime/data/parts/part.h -- the parts that a build may do without (cmake/PenstockParts.cmake).
// Where a part is left out, no_<part>.cpp is compiled instead of the files that call its libraries:
// it defines the same functions, which call fail_without().
#pragma once

#include <string>

namespace penstock {

struct Part {
  const char* name;
  const char* debian;  // Debian's packages of its libraries
  const char* option;  // the option of CMake
};
// Word pieces (SentencePiece) and the tokenizers of published folders (PCRE2, ICU).
inline constexpr Part kTokenizers{"tokenizers", "libsentencepiece-dev libpcre2-dev libicu-dev",
                                  "PENSTOCK_TOKENIZERS"};
// JPEG, PNG, and compressed files and archives, texts included (libarchive).
inline constexpr Part kImages{"images", "libarchive-dev libjpeg-dev libpng-dev", "PENSTOCK_IMAGES"};

// Throws Error(Resource): "`wanted` needs the part 'images', and this program was built without
// it: ...".
[[noreturn]] void fail_without(const Part& part, const std::string& wanted);

}  // namespace penstock

// runtime/data/parts/part.h -- the libraries that a build may do without
// (cmake/PenstockParts.cmake). Beside the file that calls such a library stands one here,
// no_<part>.cpp, that is compiled where the library is left out: it defines the same functions,
// which throw the sentence below.
#pragma once

#include <string>

namespace penstock {

struct Part {
  const char* name;
  const char* debian;  // the package there
  const char* option;  // of CMake
};
inline constexpr Part kSentencePiece{"SentencePiece", "libsentencepiece-dev",
                                     "PENSTOCK_SENTENCEPIECE"};
inline constexpr Part kLibarchive{"libarchive", "libarchive-dev", "PENSTOCK_ARCHIVE"};
inline constexpr Part kLibjpeg{"libjpeg", "libjpeg-dev", "PENSTOCK_JPEG"};
inline constexpr Part kLibpng{"libpng", "libpng-dev", "PENSTOCK_PNG"};
inline constexpr Part kPcre2{"PCRE2", "libpcre2-dev", "PENSTOCK_PCRE2"};
inline constexpr Part kIcu{"ICU", "libicu-dev", "PENSTOCK_ICU"};

// Throws Error(Resource): "`wanted` needs libpng, and this program was built without it: ...".
[[noreturn]] void fail_without(const Part& part, const std::string& wanted);

}  // namespace penstock

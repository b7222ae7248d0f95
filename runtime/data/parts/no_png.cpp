// runtime/data/parts/no_png.cpp -- stands for images/png.cpp in a build without libpng.
#include "runtime/data/images/png.h"
#include "runtime/data/parts/part.h"

namespace penstock {

Pixels decode_png(std::span<const uint8_t> /*png*/, int64_t /*channels*/, const std::string& name) {
  fail_without(kLibpng, "the PNG " + name);
}

}  // namespace penstock

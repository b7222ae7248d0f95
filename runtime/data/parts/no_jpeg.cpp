// runtime/data/parts/no_jpeg.cpp -- stands for images/jpeg.cpp in a build without libjpeg.
#include "runtime/data/images/jpeg.h"
#include "runtime/data/parts/part.h"

namespace penstock {

Pixels decode_jpeg(std::span<const uint8_t> /*jpeg*/, int64_t /*channels*/, int64_t /*height*/,
                   int64_t /*width*/, const std::string& name) {
  fail_without(kLibjpeg, "the JPEG " + name);
}

}  // namespace penstock

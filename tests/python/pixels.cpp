// tests/python/pixels.cpp -- an image file as samples, for tests that compare them with those of
// other programs. `pixels CHANNELS FILE...`: of each file height and width (i32) and its samples.
#include <array>
#include <cstdio>
#include <string>
#include <utility>

#include "runtime/data/datasets/images/decoding/jpeg.h"
#include "runtime/data/datasets/images/decoding/png.h"
#include "runtime/system/files/input_file.h"

int main(int count, char** arguments) {
  using namespace penstock;
  if (count < 3) return 2;
  const int64_t channels = std::stoi(arguments[1]);
  constexpr int64_t kInFull = 1 << 16;
  for (int i = 2; i < count; ++i) {
    const std::string name = arguments[i];
    const std::vector<uint8_t> bytes = InputFile(name).read_all(1 << 28);
    const Pixels image = is_png(bytes) ? decode_png(bytes, channels, name)
                                       : decode_jpeg(bytes, channels, kInFull, kInFull, name);
    const std::array<int32_t, 2> size = {static_cast<int32_t>(image.height),
                                         static_cast<int32_t>(image.width)};
    std::fwrite(size.data(), sizeof(int32_t), size.size(), stdout);
    std::fwrite(image.bytes.data(), 1, image.bytes.size(), stdout);
  }
  return 0;
}

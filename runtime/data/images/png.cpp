#include "runtime/data/images/png.h"

#include <png.h>

#include "kernels/error.h"

namespace penstock {
namespace {

// libpng's simplified API (libpng manual, section V): it returns instead of jumping, and frees all
// but the control block of its own accord.
struct PngDecoder {
  PngDecoder() { image.version = PNG_IMAGE_VERSION; }
  ~PngDecoder() { png_image_free(&image); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  png_image image{};
};

}  // namespace

bool is_png(std::span<const uint8_t> bytes) {
  return bytes.size() >= 8 && png_sig_cmp(bytes.data(), 0, 8) == 0;
}

Pixels decode_png(std::span<const uint8_t> png, int64_t channels, const std::string& name) {
  if (channels != 1 && channels != 3) fail_internal("a PNG is decoded to 1 or 3 channels");
  const auto refuse = [&](const std::string& why) {
    fail_input(name + " is not a usable PNG: " + why + "; repair or remove the file");
  };
  PngDecoder decoder;
  png_image& image = decoder.image;
  if (png_image_begin_read_from_memory(&image, png.data(), png.size()) == 0) refuse(image.message);
  const int64_t height = image.height;
  const int64_t width = image.width;
  if (height * width > kLargestPixels) refuse(too_many_pixels(height, width));

  image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Pixels pixels{height, width, channels, {}};
  pixels.bytes.resize(static_cast<size_t>(height * width * channels));
  const png_color black{};
  if (png_image_finish_read(&image, &black, pixels.bytes.data(), 0, nullptr) == 0) {
    refuse(image.message);
  }
  return pixels;
}

}  // namespace penstock

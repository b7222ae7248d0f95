#include "runtime/data/images/png.h"

#include <png.h>

#include <cstdio>

#include "kernels/error.h"

namespace penstock {
namespace {

// libpng's simplified API (libpng manual, section V): it returns instead of jumping, and frees all
// but the control block of its own accord.
// The bytes pass as a stream, which knows how far libpng has come.
struct PngDecoder {
  explicit PngDecoder(std::span<const uint8_t> png)
      : stream(fmemopen(const_cast<uint8_t*>(png.data()), png.size(), "rb")) {
    image.version = PNG_IMAGE_VERSION;
  }
  ~PngDecoder() {
    png_image_free(&image);
    if (stream != nullptr) (void)std::fclose(stream);
  }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;
  [[nodiscard]] long byte() const { return stream == nullptr ? 0 : std::ftell(stream); }

  png_image image{};
  FILE* stream;
};

}  // namespace

Pixels decode_png(std::span<const uint8_t> png, int64_t channels, const std::string& name) {
  if (channels != 1 && channels != 3) fail_internal("a PNG is decoded to 1 or 3 channels");
  PngDecoder decoder(png);
  png_image& image = decoder.image;
  const auto refuse = [&](const std::string& why) {
    fail_data(name + ", byte " + std::to_string(decoder.byte()) +
              ": it is not a usable PNG: " + why + "; repair or remove the file");
  };
  if (decoder.stream == nullptr) refuse("it is empty");
  if (png_image_begin_read_from_stdio(&image, decoder.stream) == 0) refuse(image.message);
  const int64_t height = image.height;
  const int64_t width = image.width;
  if (!fits(height, width, height * width * channels, png.size())) {
    refuse(too_many_pixels(height, width));
  }

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

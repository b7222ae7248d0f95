#include "runtime/data/images/jpeg.h"

#include <array>
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs FILE and size_t, and does not say so
//
#include <jpeglib.h>

#include "kernels/error.h"

namespace penstock {
namespace {

// libjpeg reports errors by a call that must not return, and C frames must not be unwound: longjmp
// goes back into start() or finish(), which therefore keep no object with a destructor alive.
class JpegDecoder {
 public:
  JpegDecoder() {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = [](j_common_ptr info) { of(info).give_up(info); };
    errors_.emit_message = [](j_common_ptr info, int level) {
      if (level < 0) of(info).give_up(info);  // a warning: the data are damaged
    };
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // Reads the header and chooses the scale. False: see message().
  bool start(std::span<const uint8_t> jpeg, int64_t channels, int64_t height, int64_t width) {
    if (setjmp(return_) != 0) return false;
    jpeg_create_decompress(&info_);
    jpeg_mem_src(&info_, jpeg.data(), jpeg.size());
    jpeg_read_header(&info_, TRUE);
    if (int64_t{info_.image_height} * info_.image_width > kLargestPixels) {
      too_many_pixels(info_.image_height, info_.image_width)
          .copy(message_.data(), message_.size() - 1);
      return false;
    }
    info_.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    info_.dct_method = JDCT_ISLOW;  // the same bytes with and without SIMD
    info_.scale_denom = 8;
    for (info_.scale_num = 1; info_.scale_num < 8; ++info_.scale_num) {
      jpeg_calc_output_dimensions(&info_);
      if (info_.output_height >= height && info_.output_width >= width) break;
    }
    jpeg_start_decompress(&info_);
    return true;
  }

  // Writes the rows to `out`, [this->height(), width(), channels].
  bool finish(uint8_t* out) {
    if (setjmp(return_) != 0) return false;
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = out + size_t{info_.output_scanline} * info_.output_width *
                               static_cast<size_t>(info_.output_components);
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  [[nodiscard]] int64_t height() const { return info_.output_height; }
  [[nodiscard]] int64_t width() const { return info_.output_width; }
  [[nodiscard]] std::string message() const { return message_.data(); }

 private:
  static JpegDecoder& of(j_common_ptr info) {
    return *static_cast<JpegDecoder*>(info->client_data);
  }
  [[noreturn]] void give_up(j_common_ptr info) {
    errors_.format_message(info, message_.data());
    std::longjmp(return_, 1);
  }

  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  std::array<char, JMSG_LENGTH_MAX> message_{};
  std::jmp_buf return_{};
};

}  // namespace

Pixels decode_jpeg(std::span<const uint8_t> jpeg, int64_t channels, int64_t height, int64_t width,
                   const std::string& name) {
  if (channels != 1 && channels != 3) fail_internal("a JPEG has 1 or 3 channels");
  const auto refuse = [&](const JpegDecoder& decoder) {
    fail_input(name + " is not a usable JPEG: " + decoder.message() +
               "; repair or remove the file");
  };
  JpegDecoder decoder;
  if (!decoder.start(jpeg, channels, height, width)) refuse(decoder);
  Pixels image{decoder.height(), decoder.width(), channels, {}};
  image.bytes.resize(static_cast<size_t>(image.height * image.width * channels));
  if (!decoder.finish(image.bytes.data())) refuse(decoder);
  return image;
}

}  // namespace penstock

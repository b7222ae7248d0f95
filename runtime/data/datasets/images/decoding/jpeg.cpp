#include "runtime/data/datasets/images/decoding/jpeg.h"

#include <array>
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs FILE and size_t, and does not say so
#include <utility>
//
#include <jerror.h>
#include <jpeglib.h>

#include "kernels/error.h"

namespace penstock {
namespace {

// What libjpeg warns of although every pixel is there: bytes between two parts of the file, and
// numbers in its headers that decoding does not need.
bool is_harmless(int message) {
  return message == JWRN_EXTRANEOUS_DATA || message == JWRN_JFIF_MAJOR ||
         message == JWRN_ADOBE_XFORM || message == JWRN_BOGUS_ICC;
}

// libjpeg reports errors by a call that must not return, and C frames must not be unwound: longjmp
// goes back into start() or finish(), which therefore keep no object with a destructor alive.
class JpegDecoder {
 public:
  JpegDecoder() {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = [](j_common_ptr info) { of(info).give_up(info); };
    errors_.emit_message = [](j_common_ptr info, int level) {
      if (level < 0 && !is_harmless(info->err->msg_code)) of(info).give_up(info);
    };
    progress_.progress_monitor = [](j_common_ptr info) { of(info).check_scans(); };
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // Reads the header and chooses the scale. False: see message().
  bool start(std::span<const uint8_t> jpeg, int64_t height, int64_t width) {
    size_ = jpeg.size();
    if (setjmp(return_) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    jpeg_mem_src(&info_, jpeg.data(), jpeg.size());
    jpeg_read_header(&info_, TRUE);
    // Grey is made of the colours later, by the same formula as for all images: the luma in the
    // file differs from it by roundings.
    if (is_print()) {
      info_.out_color_space = JCS_CMYK;
    } else {
      const bool is_grey = info_.jpeg_color_space == JCS_GRAYSCALE;
      info_.out_color_space = is_grey ? JCS_GRAYSCALE : JCS_RGB;
    }
    info_.dct_method = JDCT_ISLOW;  // the same bytes with and without SIMD
    info_.scale_denom = 8;
    for (info_.scale_num = 1; info_.scale_num < 8; ++info_.scale_num) {
      jpeg_calc_output_dimensions(&info_);
      if (info_.output_height >= height && info_.output_width >= width) break;
    }
    if (!fits(info_.image_height, info_.image_width, held_bytes(), size_)) {
      too_many_pixels(info_.image_height, info_.image_width)
          .copy(message_.data(), message_.size() - 1);
      return false;
    }
    jpeg_start_decompress(&info_);
    return true;
  }

  // Writes the rows to `out`, [this->height(), width(), channels()].
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
  [[nodiscard]] int64_t channels() const { return info_.output_components; }
  // Whether the image has four inks (CMYK, YCCK), which libjpeg does not convert to RGB.
  [[nodiscard]] bool is_print() const {
    return info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
  }
  // Adobe's programs, which make nearly all such files, write how much of an ink is missing.
  [[nodiscard]] bool is_inverted() const { return info_.saw_Adobe_marker != 0; }
  [[nodiscard]] std::string message() const { return message_.data(); }
  [[nodiscard]] size_t byte() const {  // up to which libjpeg has read
    return info_.src == nullptr ? 0 : size_ - info_.src->bytes_in_buffer;
  }

 private:
  static constexpr int kMostScans = 100;  // common programs write ten

  static JpegDecoder& of(j_common_ptr info) {
    return *static_cast<JpegDecoder*>(info->client_data);
  }
  [[noreturn]] void give_up(j_common_ptr info) {
    errors_.format_message(info, message_.data());
    std::longjmp(return_, 1);
  }
  // Bounds the number of scans: a few bytes make a scan over the whole image, which takes as long
  // as that of a full file.
  void check_scans() {
    if (info_.input_scan_number <= kMostScans) return;
    std::snprintf(message_.data(), message_.size(), "it has more than %d scans", kMostScans);
    std::longjmp(return_, 1);
  }
  // Bytes of the pixels that come out, and of what libjpeg keeps of an image in several scans: a
  // 16-bit number for every sample. A single scan is decoded row by row.
  [[nodiscard]] int64_t held_bytes() {
    const int64_t pixels = int64_t{info_.output_height} * info_.output_width;
    const int64_t samples = int64_t{info_.image_height} * info_.image_width * info_.num_components;
    return pixels * info_.out_color_components +
           (jpeg_has_multiple_scans(&info_) != 0 ? 2 * samples : 0);
  }

  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  size_t size_ = 0;
  std::array<char, JMSG_LENGTH_MAX> message_{};
  std::jmp_buf return_{};
};

uint8_t scaled(int colour, int light) {  // of 255ths, rounded
  return static_cast<uint8_t>((colour * light + 127) / 255);
}

// Converts CMYK to RGB without a colour profile: cyan absorbs red, magenta green and yellow blue,
// and black absorbs all three.
Pixels colours_of(const Pixels& inks, bool inverted) {
  Pixels image{inks.height, inks.width, 3, {}};
  image.bytes.reserve(inks.bytes.size() / 4 * 3);
  for (size_t at = 0; at < inks.bytes.size(); at += 4) {
    std::array<uint8_t, 4> left{};  // of the light
    for (size_t i = 0; i < 4; ++i) {
      const uint8_t value = inks.bytes[at + i];
      left[i] = inverted ? value : static_cast<uint8_t>(255 - value);
    }
    for (size_t i = 0; i < 3; ++i) image.bytes.push_back(scaled(left[i], left[3]));
  }
  return image;
}

}  // namespace

Pixels decode_jpeg(std::span<const uint8_t> jpeg, int64_t channels, int64_t height, int64_t width,
                   const std::string& name) {
  if (channels != 1 && channels != 3) fail_internal("a JPEG has 1 or 3 channels");
  const auto refuse = [&](const JpegDecoder& decoder) {
    fail_data(name + ", byte " + std::to_string(decoder.byte()) +
              ": it is not a usable JPEG: " + decoder.message() + "; repair or remove the file");
  };
  JpegDecoder decoder;
  if (!decoder.start(jpeg, height, width)) refuse(decoder);
  Pixels image{decoder.height(), decoder.width(), decoder.channels(), {}};
  image.bytes.resize(static_cast<size_t>(image.height * image.width * image.channels));
  if (!decoder.finish(image.bytes.data())) refuse(decoder);
  if (decoder.is_print()) image = colours_of(image, decoder.is_inverted());
  return with_channels(std::move(image), channels);
}

}  // namespace penstock

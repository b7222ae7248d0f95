#include "runtime/data/datasets/images/decoding/png.h"

#include <png.h>

#include <array>
#include <csetjmp>
#include <cstring>
#include <utility>

#include "kernels/error.h"

namespace penstock {
namespace {

// libpng reports errors by a call that must not return, and C frames must not be unwound: longjmp
// goes back into start() or finish(), which therefore keep no object with a destructor alive.
// (libpng's simplified interface has no such calls, but puts 16 bits and grey through a gamma.)
class PngDecoder {
 public:
  // What comes out of it: colours, or the numbers that the file has for its pixels.
  enum class Samples : uint8_t { Colours, Numbers };
  PngDecoder(std::span<const uint8_t> png, Samples samples) : bytes_(png), samples_(samples) {}
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  // Reads what stands before the samples. False: see message().
  bool start() {
    if (setjmp(return_) != 0) return false;
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, give_up, [](png_structp, auto) {});
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) fail("there is no memory for it");
    png_set_read_fn(png_, this, [](png_structp png, png_bytep to, size_t size) {
      static_cast<PngDecoder*>(png_get_io_ptr(png))->copy_next(to, size);
    });
    png_set_benign_errors(png_, 1);
    // Profiles, times and texts are no samples, and what is wrong in them does no harm.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_read_info(png_, info_);
    bits_ = png_get_bit_depth(png_, info_);  // in the file: libpng forgets it
    const int type = png_get_color_type(png_, info_);
    is_grey_ = type == PNG_COLOR_TYPE_GRAY;
    has_numbers_ = type == PNG_COLOR_TYPE_PALETTE || (is_grey_ && bits_ == 8);
    if (samples_ == Samples::Numbers) {
      png_set_packing(png_);  // a byte for each index, also of palettes of 1, 2 and 4 bits
    } else {
      convert_to_colours();
    }
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  // Writes the rows to `out`, [height(), width(), channels()].
  bool finish(uint8_t* out) {
    if (setjmp(return_) != 0) return false;
    const size_t row_bytes = png_get_rowbytes(png_, info_);
    for (int pass = 0; pass < passes_; ++pass) {
      for (int64_t y = 0; y < height(); ++y) {
        png_read_row(png_, out + static_cast<size_t>(y) * row_bytes, nullptr);
      }
    }
    return true;
  }

  // Whether the pixels are numbers of a form that can be read in one way only.
  [[nodiscard]] bool has_numbers() const { return has_numbers_; }
  // What the samples of the file are, for messages.
  [[nodiscard]] std::string form() const {
    return is_grey_ ? "is grey of " + std::to_string(bits_) + " bits"
                    : std::string("has colours or transparency");
  }
  [[nodiscard]] int64_t height() const { return png_get_image_height(png_, info_); }
  [[nodiscard]] int64_t width() const { return png_get_image_width(png_, info_); }
  [[nodiscard]] int64_t channels() const { return png_get_channels(png_, info_); }
  [[nodiscard]] std::string message() const { return message_.data(); }
  [[nodiscard]] size_t byte() const { return at_; }  // up to which libpng has read

 private:
  [[noreturn]] static void give_up(png_structp png, png_const_charp why) {
    static_cast<PngDecoder*>(png_get_error_ptr(png))->fail(why);
  }
  [[noreturn]] void fail(const char* why) {
    std::strncpy(message_.data(), why, message_.size() - 1);
    std::longjmp(return_, 1);
  }
  void convert_to_colours() {
    if (png_get_color_type(png_, info_) == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (bits_ < 8) png_set_expand_gray_1_2_4_to_8(png_);
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
  }
  void copy_next(uint8_t* to, size_t size) {
    if (size > bytes_.size() - at_) {
      at_ = bytes_.size();
      fail("it is cut off");
    }
    std::memcpy(to, bytes_.data() + at_, size);
    at_ += size;
  }

  std::span<const uint8_t> bytes_;
  Samples samples_;
  size_t at_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1, bits_ = 0;
  bool is_grey_ = false, has_numbers_ = false;
  std::array<char, 200> message_{};
  std::jmp_buf return_{};
};

[[noreturn]] void refuse(const PngDecoder& decoder, const std::string& name,
                         const std::string& why) {
  fail_data(name + ", byte " + std::to_string(decoder.byte()) + ": it is not a usable PNG: " + why +
            "; repair or remove the file");
}

void start(PngDecoder& decoder, std::span<const uint8_t> png, const std::string& name) {
  if (png.empty()) refuse(decoder, name, "it is empty");
  if (!decoder.start()) refuse(decoder, name, decoder.message());
}

Pixels pixels_of(PngDecoder& decoder, size_t file_bytes, const std::string& name) {
  Pixels pixels{decoder.height(), decoder.width(), decoder.channels(), {}};
  const int64_t held_bytes = pixels.height * pixels.width * pixels.channels;
  if (!fits(pixels.height, pixels.width, held_bytes, file_bytes)) {
    refuse(decoder, name, too_many_pixels(pixels.height, pixels.width));
  }
  pixels.bytes.resize(static_cast<size_t>(held_bytes));
  if (!decoder.finish(pixels.bytes.data())) refuse(decoder, name, decoder.message());
  return pixels;
}

}  // namespace

Pixels decode_png(std::span<const uint8_t> png, int64_t channels, const std::string& name) {
  if (channels != 1 && channels != 3) fail_internal("a PNG is decoded to 1 or 3 channels");
  PngDecoder decoder(png, PngDecoder::Samples::Colours);
  start(decoder, png, name);
  return with_channels(pixels_of(decoder, png.size(), name), channels);
}

Pixels decode_numbers(std::span<const uint8_t> png, const std::string& name) {
  PngDecoder decoder(png, PngDecoder::Samples::Numbers);
  start(decoder, png, name);
  if (!decoder.has_numbers()) {
    fail_input(name + " " + decoder.form() +
               ": a mask is a PNG of class numbers, grey of 8 bits or a palette");
  }
  return pixels_of(decoder, png.size(), name);
}

}  // namespace penstock

// The samples of PNG and JPEG files as they stand: what Pillow's convert("RGB") and convert("L")
// give of the same files. tests/python/images_test.py compares the two on many more.
#include <png.h>

#include "fixtures.h"
#include "runtime/data/datasets/images/decoding/jpeg.h"
#include "runtime/data/datasets/images/decoding/pixels.h"
#include "runtime/data/datasets/images/decoding/png.h"

namespace penstock {
namespace {

using testing::ElementsAreArray;

// A PNG as its format has it.
struct Form {
  int bits, colour_type;
  std::vector<uint8_t> row;  // packed, of 2 pixels; the image has two such
  std::vector<png_color> palette = {};
  std::vector<uint8_t> transparency = {};  // of the palette
  double gamma = 0.0;                      // 0: none is said
  bool is_srgb = false;
  bool interlaced = false;
};

std::string png_of(const Form& form) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  std::string file;
  png_set_write_fn(
      png, &file,
      [](png_structp to, png_bytep data, size_t size) {
        static_cast<std::string*>(png_get_io_ptr(to))
            ->append(reinterpret_cast<const char*>(data), size);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, 2, 2, form.bits, form.colour_type,
               form.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_BASE, PNG_FILTER_TYPE_BASE);
  if (!form.palette.empty()) {
    png_set_PLTE(png, info, form.palette.data(), static_cast<int>(form.palette.size()));
  }
  if (!form.transparency.empty()) {
    png_set_tRNS(png, info, form.transparency.data(), static_cast<int>(form.transparency.size()),
                 nullptr);
  }
  if (form.gamma > 0) png_set_gAMA(png, info, form.gamma);
  if (form.is_srgb) png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
  png_write_info(png, info);
  std::vector<uint8_t> row = form.row;
  const int passes = png_set_interlace_handling(png);
  for (int pass = 0; pass < passes; ++pass) {
    for (int y = 0; y < 2; ++y) png_write_row(png, row.data());
  }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

std::vector<uint8_t> pixels_of(const std::string& file, int64_t channels) {
  const std::span bytes(reinterpret_cast<const uint8_t*>(file.data()), file.size());
  return is_png(bytes) ? decode_png(bytes, channels, "a/1.png").bytes
                       : decode_jpeg(bytes, channels, 16, 16, "a/1.jpg").bytes;
}

// The first pixel of two rows that are alike is that colour, and its grey that.
void expect_first(const Form& form, const std::vector<uint8_t>& rgb, uint8_t grey) {
  const std::string file = png_of(form);
  const std::vector<uint8_t> colours = pixels_of(file, 3);
  ASSERT_EQ(colours.size(), 12U);
  EXPECT_THAT(std::span(colours).first(3), ElementsAreArray(rgb));
  EXPECT_THAT(std::span(colours).subspan(6, 3), ElementsAreArray(rgb));
  const std::vector<uint8_t> greys = pixels_of(file, 1);
  ASSERT_EQ(greys.size(), 4U);
  EXPECT_EQ(greys[0], grey);
  EXPECT_EQ(greys[2], grey);
}

TEST(PngSamples, OfSixteenBitsAreTheirUpperBytes) {
  const std::vector<uint8_t> grey = {64, 64, 64, 64};
  const std::vector<uint8_t> colours = {64, 255, 128, 0, 200, 127, 64, 0, 128, 0, 200, 0};
  for (const double gamma : {0.0, 1.0, 0.45455}) {
    for (const bool is_srgb : {false, true}) {
      if (is_srgb && gamma == 1.0) continue;  // libpng does not write what disagrees with itself
      const auto form = [&](int type, const std::vector<uint8_t>& row) {
        return Form{
            .bits = 16, .colour_type = type, .row = row, .gamma = gamma, .is_srgb = is_srgb};
      };
      expect_first(form(PNG_COLOR_TYPE_GRAY, grey), {64, 64, 64}, 64);
      expect_first(form(PNG_COLOR_TYPE_RGB, colours), {64, 128, 200}, 117);
      expect_first(form(PNG_COLOR_TYPE_RGBA, {64, 1, 128, 1, 200, 1, 9, 9, 0, 0, 0, 0, 0, 0, 0, 0}),
                   {64, 128, 200}, 117);
    }
  }
}

TEST(PngSamples, TakeNoGammaOfTheFile) {
  for (const double gamma : {0.2, 0.45455, 1.0}) {
    expect_first({.bits = 8, .colour_type = PNG_COLOR_TYPE_GRAY, .row = {64, 64}, .gamma = gamma},
                 {64, 64, 64}, 64);
    expect_first({.bits = 8,
                  .colour_type = PNG_COLOR_TYPE_RGB,
                  .row = {64, 128, 200, 0, 0, 0},
                  .gamma = gamma},
                 {64, 128, 200}, 117);
  }
}

TEST(PngSamples, LoseTheirAlphaAndKeepTheirColour) {
  for (const uint8_t alpha : std::vector<uint8_t>{0, 1, 128, 255}) {
    expect_first(
        {.bits = 8, .colour_type = PNG_COLOR_TYPE_RGBA, .row = {200, 100, 50, alpha, 0, 0, 0, 0}},
        {200, 100, 50}, 124);
    expect_first({.bits = 8, .colour_type = PNG_COLOR_TYPE_GRAY_ALPHA, .row = {200, alpha, 0, 0}},
                 {200, 200, 200}, 200);
    expect_first({.bits = 8,
                  .colour_type = PNG_COLOR_TYPE_PALETTE,
                  .row = {0, 1},
                  .palette = {{200, 100, 50}, {10, 20, 30}},
                  .transparency = {alpha}},
                 {200, 100, 50}, 124);
  }
}

TEST(PngSamples, OfFewBitsFillTheRange) {
  const auto grey = [](int bits, uint8_t row) {
    return Form{.bits = bits, .colour_type = PNG_COLOR_TYPE_GRAY, .row = {row}};
  };
  expect_first(grey(1, 0b10000000), {255, 255, 255}, 255);
  expect_first(grey(2, 0b01000000), {85, 85, 85}, 85);
  expect_first(grey(4, 0x40), {68, 68, 68}, 68);
  expect_first({.bits = 1,
                .colour_type = PNG_COLOR_TYPE_PALETTE,
                .row = {0b10000000},
                .palette = {{200, 100, 50}, {10, 20, 30}}},
               {10, 20, 30}, 18);
}

TEST(PngSamples, OfAnInterlacedImageAreTheSame) {
  expect_first({.bits = 8,
                .colour_type = PNG_COLOR_TYPE_RGB,
                .row = {64, 128, 200, 0, 0, 0},
                .interlaced = true},
               {64, 128, 200}, 117);
}

// Colours and what Pillow's convert("L") makes of them.
TEST(GreySamples, AreThoseOfPillow) {
  struct Pair {
    std::vector<uint8_t> colour;
    uint8_t grey;
  };
  const std::vector<Pair> pairs = {
      {{255, 0, 0}, 76},     {{0, 255, 0}, 150},    {{0, 0, 255}, 29},    {{255, 255, 255}, 255},
      {{200, 100, 50}, 124}, {{64, 128, 200}, 117}, {{1, 2, 3}, 2},       {{254, 255, 253}, 254},
      {{17, 130, 77}, 90},   {{240, 15, 128}, 95},  {{90, 91, 250}, 109}, {{3, 0, 0}, 1}};
  for (const auto& [colour, grey] : pairs) {
    EXPECT_EQ(pixels_of(test::png(1, 1, 3, colour), 1), std::vector<uint8_t>{grey});
  }
}

// Grey values come from the colours even in a JPEG, whose own brightness (Y) is another number
// because it was rounded before.
TEST(GreySamples, AreOfOneFormulaInBothFormats) {
  const std::string jpeg = test::busy_jpeg(16, 16);
  const std::vector<uint8_t> colours = pixels_of(jpeg, 3);
  EXPECT_EQ(pixels_of(jpeg, 1), pixels_of(test::png(16, 16, 3, colours), 1));
  const std::string plain = test::plain_jpeg(16, 16, {64, 128, 200});
  EXPECT_EQ(pixels_of(plain, 1), pixels_of(test::png(16, 16, 3, pixels_of(plain, 3)), 1));
}

}  // namespace
}  // namespace penstock

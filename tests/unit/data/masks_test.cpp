// Images with masks: pairs, class numbers, augmentation of both, and what is refused before
// anything is trained.
#include "runtime/data/datasets/images/masks.h"

#include <png.h>

#include <cmath>
#include <filesystem>

#include "fixtures.h"

namespace penstock {
namespace {

using test::expect_error;
using test::png;
using test::write_file;
using testing::HasSubstr;

constexpr int kSide = 4;

// Grey numbers, row by row, from `first` on modulo `classes`.
std::string mask(int first, int classes, int height = kSide, int width = kSide) {
  std::vector<uint8_t> numbers;
  for (int i = 0; i < height * width; ++i) {
    numbers.push_back(static_cast<uint8_t>((first + i) % classes));
  }
  return png(height, width, 1, numbers);
}
// A grey image whose pixel i has the value 10 i.
std::string image() {
  std::vector<uint8_t> pixels;
  for (int i = 0; i < kSide * kSide; ++i) pixels.push_back(static_cast<uint8_t>(10 * i));
  return png(kSide, kSide, 1, pixels);
}

// A PNG of this depth, in each row the bytes `row`.
std::string packed_png(int bits, int colour_type, const std::vector<uint8_t>& row) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  std::string bytes;
  png_set_write_fn(
      png, &bytes,
      [](png_structp to, png_bytep data, size_t size) {
        static_cast<std::string*>(png_get_io_ptr(to))
            ->append(reinterpret_cast<const char*>(data), size);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, kSide, kSide, bits, colour_type, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  const std::vector<png_color> palette = {{0, 0, 0}, {128, 0, 0}, {0, 128, 0}, {9, 9, 9}};
  if (colour_type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette.data(), 4);
  png_write_info(png, info);
  for (int y = 0; y < kSide; ++y) png_write_row(png, row.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

struct MaskSample {
  std::vector<float> image;
  std::vector<int32_t> labels;
};
MaskSample read(const Dataset& set, int64_t index, uint64_t draw = 0) {
  MaskSample sample;
  sample.image.resize(static_cast<size_t>(set.fields()[0].shape.elements()));
  sample.labels.resize(static_cast<size_t>(set.fields()[1].shape.elements()), -7);
  const std::array<void*, 2> out = {sample.image.data(), sample.labels.data()};
  set.read(index, test::stream(draw), out);
  return sample;
}

class Masks : public testing::Test {
 protected:
  void SetUp() override {
    put("images/a.png", image());
    put("masks/a.png", mask(0, 3));
    put("images/b.png", image());
    put("masks/b.png", mask(1, 3));
  }
  void put(const std::string& name, const std::string& bytes) {
    write_file(folder_ / "set/" + name, bytes);
  }
  void remove(const std::string& name) { std::filesystem::remove(folder_ / "set/" + name); }
  [[nodiscard]] DataConfig config() const { return {.kind = "masks", .train = folder_ / "set"}; }
  [[nodiscard]] Datasets open(int64_t classes = 0) const {
    return open_masks(config(), {kSide, kSide, 1}, classes);
  }
  void refused(ErrorKind kind, const std::vector<std::string>& parts, int64_t classes = 3) {
    expect_error(kind, parts, [&] { (void)open(classes); });
  }
  TemporaryFolder folder_;
};

TEST_F(Masks, ArePairedWithImagesByName) {
  put("images/c.JPG", test::plain_jpeg(kSide, kSide, {0, 0, 0}));
  put("masks/c.png", mask(2, 3));
  const Datasets sets = open();
  EXPECT_EQ(sets.classes, 3);
  ASSERT_EQ(sets.train->size(), 3);
  EXPECT_EQ(sets.train->targets_per_sample(), kSide * kSide);
  for (int64_t i = 0; i < 3; ++i) {
    const MaskSample sample = read(*sets.train, i);
    for (size_t p = 0; p < sample.labels.size(); ++p) {
      EXPECT_EQ(sample.labels[p], static_cast<int32_t>((static_cast<size_t>(i) + p) % 3));
    }
  }
  EXPECT_THAT(sets.note, HasSubstr("images      3 images with masks of 3 classes of "));
}

TEST_F(Masks, AreReadAsTheyAreWrittenAlsoFromAPalette) {
  put("masks/a.png", packed_png(2, PNG_COLOR_TYPE_PALETTE, {0b11000110}));
  const MaskSample sample = read(*open(4).train, 0);
  EXPECT_EQ(std::vector(sample.labels.begin(), sample.labels.begin() + 5),
            (std::vector<int32_t>{3, 0, 1, 2, 3}));
}

TEST_F(Masks, HaveNumbersThatAreNoTarget) {
  std::vector<uint8_t> numbers(kSide * kSide, 1);
  numbers[5] = 255;
  put("masks/a.png", png(kSide, kSide, 1, numbers));
  const Datasets sets = open(4);
  EXPECT_EQ(read(*sets.train, 0).labels[5], -1);
  EXPECT_EQ(read(*sets.train, 0).labels[6], 1);
  EXPECT_THAT(sets.note, HasSubstr("data.ignore = 255: 3.1 %"));
  EXPECT_THAT(sets.note, HasSubstr("classes that no mask has: 3"));
  EXPECT_EQ(open().classes, 3) << "255 is no class";
  DataConfig all = config();
  all.ignore = -1;
  expect_error(ErrorKind::Input, {"a.png has the class number 255 in row 1, column 1"}, [&] {
    (void)open_masks(all, {kSide, kSide, 1}, 4);
  });
  all.ignore = 1;
  expect_error(ErrorKind::Input, {"data.ignore = 1 is one of the classes 0 to 255"}, [&] {
    (void)open_masks(all, {kSide, kSide, 1}, 0);
  });
}

// Where the image shows pixel 10 i, the label must be that of pixel i; -1 on padding.
TEST_F(Masks, MoveWithTheirImages) {
  std::vector<uint8_t> numbers;
  for (int i = 0; i < kSide * kSide; ++i) numbers.push_back(static_cast<uint8_t>(i));
  for (const char* name : {"masks/a.png", "masks/b.png"}) put(name, png(kSide, kSide, 1, numbers));
  DataConfig moving = config();
  moving.validation = moving.train;
  moving.crop_padding = 2;
  moving.flip = true;
  moving.mean = {0.0};
  moving.std = {1.0};
  const Datasets sets = open_masks(moving, {kSide, kSide, 1}, 0);
  const std::vector<int32_t> still = read(*sets.validation, 0).labels;
  int moved = 0;
  int padded = 0;
  for (uint64_t draw = 0; draw < 20; ++draw) {
    const MaskSample sample = read(*sets.train, 0, draw);
    if (sample.labels != still) ++moved;
    for (size_t p = 0; p < still.size(); ++p) {
      const auto pixel = static_cast<int32_t>(std::lround(sample.image[p] * 25.5F));
      if (sample.labels[p] < 0) ++padded;
      EXPECT_EQ(std::max(sample.labels[p], 0), pixel) << "padding is 0, as pixel 0 is";
    }
    for (uint64_t again = 0; again < 2; ++again) {
      EXPECT_EQ(read(*sets.validation, 0, draw).labels, still);
    }
  }
  EXPECT_GT(moved, 10);
  EXPECT_GT(padded, 20);
}

TEST_F(Masks, OfAnotherSizeThanTheNetworksAreResampledAsTheirImages) {
  // Two columns of 2 x 2 blocks between margins that the middle part leaves out.
  std::vector<uint8_t> numbers;
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 12; ++x) {
      numbers.push_back(x < 2 || x >= 10 ? 9 : static_cast<uint8_t>((x - 2) / 2 + y / 2));
    }
  }
  for (const char* name : {"a", "b"}) {
    put(std::string("images/") + name + ".png", png(8, 12, 1, numbers));
    put(std::string("masks/") + name + ".png", png(8, 12, 1, numbers));
  }
  const Datasets sets = open();
  EXPECT_THAT(sets.note, HasSubstr("not of the size of model.image: 2"));
  const MaskSample sample = read(*sets.train, 0);
  for (int32_t i = 0; i < kSide * kSide; ++i) {
    EXPECT_EQ(sample.labels[static_cast<size_t>(i)], i / kSide + i % kSide) << i;
  }
}

TEST_F(Masks, ThatDoNotFitAreRefusedWhenTheyAreOpened) {
  put("masks/b.png", mask(0, 3, 5, 4));
  refused(ErrorKind::Input, {"masks/b.png is 5 high and 4 wide", "images/b.png 4 high and 4 wide"});
  put("masks/b.png", mask(0, 5));
  refused(ErrorKind::Input, {"masks/b.png has the class number 3 in row 0, column 3",
                             "classes 0 to 2", "model.classes = 4"});
  EXPECT_EQ(open(5).classes, 5);
  put("masks/b.png", png(kSide, kSide, 3, std::vector<uint8_t>(kSide * kSide * 3, 1)));
  refused(ErrorKind::Input,
          {"masks/b.png has colours or transparency: ", "grey of 8 bits or a palette"});
  put("masks/b.png", packed_png(16, PNG_COLOR_TYPE_GRAY, std::vector<uint8_t>(2 * kSide)));
  refused(ErrorKind::Input, {"masks/b.png is grey of 16 bits"});
  put("masks/b.png", packed_png(4, PNG_COLOR_TYPE_GRAY, {0x12, 0x01}));
  refused(ErrorKind::Input, {"masks/b.png is grey of 4 bits"});
  put("masks/b.png", test::plain_jpeg(kSide, kSide, {1, 1, 1}));
  refused(ErrorKind::Input, {"masks/b.png is a JPEG inside"});
  put("masks/b.png", mask(0, 3).substr(0, 50));
  refused(ErrorKind::Data, {"masks/b.png, byte", "not a usable PNG"});
  put("masks/b.png", "GIF89a");
  refused(ErrorKind::Data, {"masks/b.png is a GIF image"});
}

TEST_F(Masks, ThatAreMissingAreNamed) {
  remove("masks/b.png");
  refused(ErrorKind::Input, {"images/b.png has no mask: it must be masks/b.png"});
  put("masks/b.jpg", "x");
  refused(ErrorKind::Input, {"masks/b.jpg is no mask: a mask is a PNG"});
  remove("masks/b.jpg");
  put("masks/b.png", mask(0, 3));
  put("images/b.jpg", test::plain_jpeg(kSide, kSide, {1, 1, 1}));
  refused(ErrorKind::Input, {"images/b.png and images/b.jpg have one mask"});
  remove("images/b.jpg");
  put("masks/only.png", mask(0, 3));
  put("edges/a.png", mask(0, 3));
  put("masks/list.txt", "x");
  const Datasets sets = open();
  EXPECT_EQ(sets.train->size(), 2);
  EXPECT_THAT(sets.note, HasSubstr("masks without an image, which are not read: masks/only.png"));
  EXPECT_THAT(sets.note, HasSubstr("which are not read: edges/a.png"));
  EXPECT_THAT(sets.note, HasSubstr("no JPEG or PNG by name: 1 .txt"));
  std::filesystem::rename(folder_ / "set/masks", folder_ / "set/SegmentationClass");
  refused(ErrorKind::Input, {"has no files in masks/", "SegmentationClass", "rename"});
}

TEST_F(Masks, OfOneClassAreRefused) {
  for (const char* name : {"masks/a.png", "masks/b.png"}) put(name, mask(0, 1));
  refused(ErrorKind::Input, {"no class but 0"}, 0);
}

TEST_F(Masks, OfAnArchiveAreThoseOfItsFolder) {
  const test::Files files = {{"set/masks/a.png", mask(0, 3)},
                             {"set/images/a.png", image()},
                             {"set/images/b.png", image()},
                             {"set/masks/b.png", mask(1, 3)}};
  for (const auto compression : {test::Compression::None, test::Compression::Zstd}) {
    DataConfig packed = config();
    packed.train = folder_ / "set.tar";
    test::write_archive(packed.train, files, compression);
    const Datasets sets = open_masks(packed, {kSide, kSide, 1}, 0);
    for (int64_t i = 0; i < 2; ++i) {
      EXPECT_EQ(read(*sets.train, i).labels, read(*open().train, i).labels);
      EXPECT_EQ(read(*sets.train, i).image, read(*open().train, i).image);
    }
  }
}

// The network must be one of masks, and its data too.
TEST_F(Masks, AndTheNetworkMustAgree) {
  SampleShape shape;
  shape.image = {kSide, kSide, 1};
  expect_error(ErrorKind::Input, {"give model.per_pixel = true"},
               [&] { (void)open_datasets(config(), shape, 0); });
  shape.label_per_pixel = true;
  EXPECT_EQ(open_datasets(config(), shape, 0).classes, 3);
  DataConfig images = config();
  images.kind = "images";
  expect_error(ErrorKind::Input, {"give data.kind = \"masks\""},
               [&] { (void)open_datasets(images, shape, 0); });
}

// A file that changed after the start must not reach the loss.
TEST_F(Masks, ThatChangeLaterAreRefused) {
  const Datasets sets = open(3);
  put("masks/a.png", mask(0, 9));
  expect_error(ErrorKind::Input, {"class number 3"}, [&] { (void)read(*sets.train, 0); });
  SampleShape shape;
  shape.image = {kSide, kSide, 1};
  shape.label_per_pixel = true;
  shape.classes = 3;
  const Datasets labels = open_datasets(config(), shape, 0, {}, {"labels"});
  expect_error(ErrorKind::Input, {"class number 3"}, [&] { (void)read(*labels.train, 0); });
}

}  // namespace
}  // namespace penstock

// Decoding and resizing.
#include "runtime/data/datasets/images/decoding/pixels.h"

#include "fixtures.h"
#include "runtime/data/datasets/images/decoding/jpeg.h"
#include "runtime/data/datasets/images/decoding/png.h"

namespace penstock {
namespace {

using test::expect_error;
using testing::Each;
using testing::ElementsAre;

std::span<const uint8_t> bytes(const std::string& s) {
  return {reinterpret_cast<const uint8_t*>(s.data()), s.size()};
}

Pixels decode(const std::string& jpeg, int64_t channels = 3, int64_t side = 16) {
  return decode_jpeg(bytes(jpeg), channels, side, side, "set.tar: a/1.jpg");
}

Pixels read_png(const std::string& png, int64_t channels = 3) {
  return decode_png(bytes(png), channels, "set.tar: a/1.png");
}

TEST(Jpeg, DecodesColours) {
  const Pixels image = decode(test::plain_jpeg(16, 24, {200, 100, 50}));
  EXPECT_EQ(image.height, 16);
  EXPECT_EQ(image.width, 24);
  ASSERT_EQ(image.bytes.size(), 16U * 24 * 3);
  for (size_t i = 0; i < image.bytes.size(); i += 3) {
    EXPECT_NEAR(image.bytes[i], 200, 3);
    EXPECT_NEAR(image.bytes[i + 1], 100, 3);
    EXPECT_NEAR(image.bytes[i + 2], 50, 3);
  }
}

TEST(Jpeg, ConvertsBetweenGreyAndColour) {
  EXPECT_THAT(decode(test::plain_jpeg(16, 16, {90}), 3).bytes, Each(90));
  const Pixels grey = decode(test::plain_jpeg(16, 16, {90, 90, 90}), 1);
  EXPECT_EQ(grey.bytes.size(), 256U);
  EXPECT_THAT(grey.bytes, Each(90));
}

TEST(Jpeg, ScalesDownWhileDecodingButNotBelowTheSizeAskedFor) {
  const Pixels image = decode(test::busy_jpeg(160, 320), 3, 16);
  EXPECT_EQ(image.height, 20);  // 1/8
  EXPECT_EQ(image.width, 40);
  EXPECT_EQ(decode(test::busy_jpeg(16, 16), 3, 32).height, 16);
}

TEST(Jpeg, RefusesDamageNamingTheFile) {
  const std::string whole = test::busy_jpeg(32, 32);
  EXPECT_EQ(decode(whole, 3, 32).height, 32);
  for (size_t n = 0; n + 2 < whole.size(); n += 37) {
    expect_error(ErrorKind::Data, {"set.tar: a/1.jpg", "JPEG"},
                 [&] { (void)decode(whole.substr(0, n)); });
  }
  expect_error(ErrorKind::Data, {"set.tar: a/1.jpg"}, [&] { (void)decode("\x89PNG\r\n"); });
  std::string noisy = whole;
  noisy.insert(whole.size() / 2, "\xff\xd5\xff\xd5", 4);
  expect_error(ErrorKind::Data, {"set.tar: a/1.jpg"}, [&] { (void)decode(noisy); });
}

// Any damage gives an image or an Error, and nothing else.
TEST(Jpeg, SurvivesFlippedBytes) {
  const std::string whole = test::busy_jpeg(24, 24);
  int refused = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    std::string damaged = whole;
    damaged[mix(i) % whole.size()] ^= static_cast<char>(1U << (i % 8));
    try {
      (void)decode(damaged);
    } catch (const Error& error) {
      ++refused;
      EXPECT_EQ(error.kind(), ErrorKind::Data);
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(Jpeg, RefusesMorePixelsThanAPhotographHas) {
  std::string huge = test::plain_jpeg(16, 16, {1, 2, 3});
  const size_t frame = huge.find("\xff\xc0");
  huge.replace(frame + 5, 4, std::string("\xff\x00\xff\x00", 4));  // height and width
  expect_error(ErrorKind::Data, {"65280 x 65280", "too many"}, [&] { (void)decode(huge); });
}

TEST(Png, GivesTheBytesBack) {
  const std::vector<uint8_t> colours = {1,  2,  3,  250, 251, 252, 0, 255, 9,
                                        77, 78, 79, 5,   6,   7,   8, 9,   10};
  const Pixels image = read_png(test::png(2, 3, 3, colours));
  EXPECT_EQ(image.height, 2);
  EXPECT_EQ(image.width, 3);
  EXPECT_EQ(image.channels, 3);
  EXPECT_EQ(image.bytes, colours);
  EXPECT_THAT(read_png(test::png(1, 3, 1, {0, 100, 255}), 1).bytes, ElementsAre(0, 100, 255));
}

TEST(Png, ConvertsBetweenGreyAndColour) {
  EXPECT_THAT(read_png(test::png(1, 1, 1, {90}), 3).bytes, ElementsAre(90, 90, 90));
  EXPECT_THAT(read_png(test::png(1, 1, 3, {90, 90, 90}), 1).bytes, ElementsAre(90));
}

TEST(Png, IsKnownByItsFirstBytes) {
  const std::string whole = test::png(1, 1, 1, {90});
  EXPECT_TRUE(is_png(bytes(whole)));
  EXPECT_FALSE(is_png(bytes(whole.substr(0, 7))));
  EXPECT_FALSE(is_png(bytes(test::plain_jpeg(8, 8, {90}))));
}

std::string busy_png() {
  std::vector<uint8_t> pixels;
  for (uint64_t i = 0; i < 24 * 24 * 3; ++i) pixels.push_back(static_cast<uint8_t>(mix(i)));
  return test::png(24, 24, 3, pixels);
}

TEST(Png, RefusesAFileCutOffNamingIt) {
  const std::string whole = busy_png();
  for (size_t n = 0; n + 32 < whole.size(); n += 37) {
    expect_error(ErrorKind::Data, {"set.tar: a/1.png", "PNG"},
                 [&] { (void)read_png(whole.substr(0, n)); });
  }
}

// A flipped bit of the pixels fails their checksum; anything else gives an image or an Error.
TEST(Png, RefusesFlippedBits) {
  const std::string whole = busy_png();
  const size_t pixels = whole.find("IDAT") + 4;
  for (uint64_t i = 0; i < 2000; ++i) {
    std::string damaged = whole;
    const size_t at = mix(i) % whole.size();
    damaged[at] ^= static_cast<char>(1U << (i % 8));
    try {
      (void)read_png(damaged);
      EXPECT_TRUE(at < pixels || at >= whole.size() - 16) << at;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Data);
    }
  }
}

TEST(Png, RefusesMorePixelsThanAPhotographHas) {
  std::string huge = test::png(1, 1, 1, {90});
  const std::string header("IHDR\0\0\x4e\x20\0\0\x4e\x20\x08\0\0\0\0", 17);
  huge.replace(huge.find("IHDR"), header.size(), header);
  uint32_t crc = ~0U;  // of the header, as the PNG specification has it
  for (const char byte : header) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320U : 0);
  }
  crc = ~crc;
  for (size_t i = 0; i < 4; ++i) {
    huge[huge.find("IHDR") + header.size() + i] = static_cast<char>(crc >> (24 - 8 * i));
  }
  expect_error(ErrorKind::Data, {"20000 x 20000", "too many"}, [&] { (void)read_png(huge); });
}

TEST(Fitted, LeavesTheRightSizeAlone) {
  const Pixels image{1, 3, 1, {1, 2, 3}};
  EXPECT_THAT(fitted(image, 1, 3).bytes, ElementsAre(1, 2, 3));
}

TEST(Fitted, TakesTheMiddleOfAWideOrTallImage) {
  EXPECT_THAT(fitted({1, 5, 1, {10, 20, 30, 40, 50}}, 1, 1).bytes, ElementsAre(30));
  EXPECT_THAT(fitted({5, 1, 1, {10, 20, 30, 40, 50}}, 1, 1).bytes, ElementsAre(30));
}

TEST(Fitted, InterpolatesBetweenPixelCentres) {
  // Halving averages pairs; doubling puts new centres at quarters.
  EXPECT_THAT(fitted({2, 4, 1, {0, 10, 20, 30, 40, 50, 60, 70}}, 1, 2).bytes, ElementsAre(25, 45));
  EXPECT_THAT(fitted({1, 2, 1, {0, 100}}, 2, 4).bytes, ElementsAre(0, 25, 75, 100, 0, 25, 75, 100));
}

TEST(Fitted, KeepsChannelsApart) {
  const Pixels image = fitted({2, 2, 3, {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}}, 3, 3);
  for (size_t i = 0; i < 27; ++i) EXPECT_EQ(image.bytes[i], i % 3 + 1);
}

TEST(Fitted, StaysInsideImagesOfEverySize) {
  for (int64_t height : {1, 2, 3, 7, 100}) {
    for (int64_t width : {1, 2, 5, 64}) {
      const Pixels image{height, width, 1,
                         std::vector<uint8_t>(static_cast<size_t>(height * width), 255)};
      for (int64_t to_height : {1, 4, 33}) {
        for (int64_t to_width : {1, 3, 32}) {
          EXPECT_THAT(fitted(image, to_height, to_width).bytes, Each(255));
        }
      }
    }
  }
}

}  // namespace
}  // namespace penstock

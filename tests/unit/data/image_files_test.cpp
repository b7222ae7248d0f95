// Files called images: what they are by their bytes, what EXIF says of them, links to them.
#include <filesystem>

#include "fixtures.h"
#include "kernels/philox.h"
#include "runtime/data/datasets/images/decoding/orientation.h"
#include "runtime/data/datasets/images/images.h"

namespace penstock {
namespace {

using test::Compression;
using test::expect_error;
using testing::ElementsAre;

std::string jpeg() {
  return test::plain_jpeg(8, 8, {255, 0, 0});
}

class ImageFiles : public testing::Test {
 protected:
  std::string packed(const test::Files& files) {
    test::write_archive(folder_ / "set.tar.zst", files, Compression::Zstd);
    return folder_ / "set.tar.zst";
  }
  static Datasets open_at(const std::string& train) {
    return open_images({.train = train}, {8, 8, 3});
  }
  TemporaryFolder folder_;
};

// A file with nothing but what EXIF says of it, in the order of bytes of either kind of machine.
std::string turned_jpeg(char way, bool little, const std::string& before = "") {
  using namespace std::string_literals;
  const std::string tiff = little
                               ? "II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0"s + way + "\0\0\0\0\0\0\0"s
                               : "MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0"s + way + "\0\0\0\0\0\0"s;
  const std::string segment = "Exif\0\0"s + tiff;
  const auto length = static_cast<char>(segment.size() + 2);
  return "\xFF\xD8"s + before + "\xFF\xE1\0"s + length + segment + jpeg().substr(2);
}

TEST_F(ImageFiles, ThatAskToBeTurnedAreCounted) {
  using namespace std::string_literals;
  const std::string other_segment = "\xFF\xE0\0\4ab"s;
  const test::Files files = {{"a/0.jpg", turned_jpeg(6, true)},
                             {"a/1.jpg", turned_jpeg(8, false, other_segment)},
                             {"a/2.jpg", turned_jpeg(1, true)},  // as it stands
                             {"a/3.jpg", turned_jpeg(9, true)},  // no way at all
                             {"b/0.jpg", jpeg()},
                             {"b/1.png", test::png(8, 8, 1, std::vector<uint8_t>(64, 90))},
                             {"b/2.jpg", ""}};
  for (const auto& [name, contents] : files) test::write_file(folder_ / "set/" + name, contents);
  test::write_archive(folder_ / "plain.tar", files, Compression::None);
  for (const std::string& path : {folder_ / "set", folder_ / "plain.tar", packed(files)}) {
    EXPECT_THAT(open_at(path).note,
                testing::EndsWith("turned or mirrored by EXIF, which is not looked at: 2"));
    EXPECT_THAT(open_at(path).note, testing::HasSubstr("7 images in 2 classes"));
  }
  EXPECT_THAT(open_at(packed({{"a/0.jpg", jpeg()}, {"b/0.jpg", jpeg()}})).note,
              testing::Not(testing::HasSubstr("EXIF")));
}

TEST(Orientation, IsReadOfWhatIsThere) {
  const auto turned = [](const std::string& file) {
    return is_turned({reinterpret_cast<const uint8_t*>(file.data()), file.size()});
  };
  const std::string whole = turned_jpeg(3, false);
  EXPECT_TRUE(turned(whole));
  EXPECT_TRUE(turned(whole.substr(0, 60)));
  for (size_t n = 0; n < 30; ++n) EXPECT_FALSE(turned(whole.substr(0, n))) << n;
  std::string png = test::png(8, 8, 1, std::vector<uint8_t>(64, 90));
  const std::string exif(
      "\0\0\0\x1a"
      "eXIfMM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\5\0\0\0\0\0\0....",
      38);
  EXPECT_FALSE(turned(png));
  png.insert(33, exif);  // behind the header
  EXPECT_TRUE(turned(png));
  for (uint64_t i = 0; i < 3000; ++i) {
    std::string damaged = i % 2 == 0 ? whole : png;
    damaged[mix(i) % 80] ^= static_cast<char>(1U << (i % 8));
    (void)turned(damaged);
  }
}

// Images behind too many folders were lost without a word.
TEST_F(ImageFiles, FoldersThatLieTooDeepAreCounted) {
  std::string deep = "set";
  for (int i = 1; i <= 7; ++i) deep += "/d";
  for (const char* name : {"/cat", "/dog"}) {
    test::write_file(folder_ / deep + name + "/0.jpg", jpeg());
  }
  EXPECT_EQ(open_at(folder_ / "set").train->size(), 2) << "eight levels of folders are read";
  test::write_file(folder_ / deep + "/cat/deeper/1.jpg", jpeg());
  const Datasets sets = open_at(folder_ / "set");
  EXPECT_EQ(sets.train->size(), 2);
  EXPECT_THAT(sets.note, testing::HasSubstr("folders that lie too deep to be read: 1"));
}

// Links that lead nowhere were not counted, and one in a circle ended the run.
TEST_F(ImageFiles, LinksAreFollowedOrCounted) {
  namespace fs = std::filesystem;
  test::write_file(folder_ / "set/cat/0.jpg", jpeg());
  test::write_file(folder_ / "elsewhere/1.jpg", jpeg());
  fs::create_symlink(folder_ / "elsewhere", folder_ / "set/dog");
  fs::create_symlink(folder_ / "set/cat/0.jpg", folder_ / "set/cat/link.jpg");
  fs::create_symlink(folder_ / "nowhere.jpg", folder_ / "set/cat/gone.jpg");
  fs::create_symlink("circle", folder_ / "set/circle");
  const Datasets sets = open_at(folder_ / "set");
  EXPECT_THAT(sets.labels, ElementsAre("cat", "dog"));
  EXPECT_EQ(sets.train->size(), 3);
  EXPECT_THAT(sets.note, testing::HasSubstr("links that lead nowhere: 2"));
  // Links in an archive, symbolic and hard ones, hold no image.
  test::write_file(folder_ / "set/emu/2.jpg", jpeg());
  fs::create_hard_link(folder_ / "set/cat/0.jpg", folder_ / "set/cat/same.jpg");
  const std::string tar = "tar -C " + folder_ / "" + " -cf " + (folder_ / "set.tar") + " set";
  ASSERT_EQ(std::system(tar.c_str()), 0);
  const Datasets packed_sets = open_at(folder_ / "set.tar");
  EXPECT_EQ(packed_sets.train->size(), 2);
  EXPECT_THAT(packed_sets.note,
              testing::HasSubstr("links, which are not followed in an archive: 5"));
}

TEST_F(ImageFiles, AreCalledWhatTheyAre) {
  using namespace std::string_literals;
  const auto refused = [](const std::string& bytes, const std::string& what) {
    std::vector<float> out(8 * 8 * 3);
    expect_error(ErrorKind::Data, {"x/a.jpg", what}, [&] {
      read_image_file({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "x/a.jpg",
                      {8, 8, 3}, {}, out);
    });
  };
  refused("RIFF\x24\0\0\0WEBPVP8 "s, "is a WebP image, and JPEG and PNG are read: convert it");
  refused("GIF89a", "a GIF image");
  refused("BM\x3a\0"s, "a BMP image");
  refused("II*\0\x08"s, "a TIFF image");
  refused(
      "\0\0\0\x20"
      "ftypheic"s,
      "a HEIC image");
  refused(
      "\0\0\0\x20"
      "ftypavif"s,
      "an AVIF image");
  refused("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a pointer of git-lfs");
  refused("<!DOCTYPE html><html>", "a web page");
  refused("", "is empty");
  refused(std::string(900, '\0'), "nothing but zeros");
  refused("hello", "no image that is known");
  refused("R", "no image that is known");
}

// It was "an unrecognized archive format".
TEST_F(ImageFiles, OfOtherArchivesAreNotThoseOfATar) {
  const auto refused = [&](const std::string& bytes, const std::string& what) {
    test::write_file(folder_ / "set.bin", bytes);
    expect_error(ErrorKind::Input, {folder_ / "set.bin", what},
                 [&] { (void)open_at(folder_ / "set.bin"); });
  };
  refused("PK\3\4....", "is a zip archive, and folders and tar archives are read: unpack it");
  refused("7z\xBC\xAF\x27\x1C", "is a 7z archive");
  refused("Rar!\x1A\7", "is a RAR archive");
  refused(jpeg(), "is one image: give the folder above the class folders");
}

}  // namespace
}  // namespace penstock

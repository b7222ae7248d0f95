// Image folders and archives: classes, order, augmentation, the cache, and what is refused.
#include "runtime/data/datasets/images/images.h"

#include <filesystem>
#include <thread>

#include "fixtures.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using test::Compression;
using test::expect_error;
using test::read_image;
using testing::ElementsAre;

std::string red() {
  return test::plain_jpeg(8, 8, {255, 0, 0});
}
std::string green() {
  return test::plain_jpeg(8, 8, {0, 255, 0});
}

std::string green_png() {
  std::vector<uint8_t> pixels(8 * 8 * 3, 0);
  for (size_t i = 1; i < pixels.size(); i += 3) pixels[i] = 255;
  return test::png(8, 8, 3, pixels);
}

class Images : public testing::Test {
 protected:
  std::string archive(const test::Files& files, const std::string& name = "set.tar.zst") {
    test::write_archive(folder_ / name, files, Compression::Zstd);
    return folder_ / name;
  }
  static Datasets open(const std::string& train, const std::string& validation = "") {
    return open_images({.train = train, .validation = validation}, {8, 8, 3});
  }
  static SampleShape of_images() {
    SampleShape shape;
    shape.image = {8, 8, 3};
    return shape;
  }
  TemporaryFolder folder_;
};

// Out of order, with what archives collect on the way.
const test::Files& mixed() {
  static const test::Files kFiles = {
      {"./train/dog/2.JPG", green()},    {"./train/cat/9.jpeg", red()},
      {"./train/README", "x"},           {"./train/cat/._9.jpg", "apple"},
      {"./train/cat/1.jpg", red()},      {"./train/cat/list.txt", ""},
      {"./train/ape/0.jpg", red()},      {"./train/dog/jpg", "x"},
      {"./train/dog/3.png", green_png()}};
  return kFiles;
}

TEST_F(Images, SortsClassesAndFilesWhateverTheOrderOfTheArchive) {
  const ImageFolder folder = open_image_folder(archive(mixed()));
  EXPECT_THAT(folder.classes, ElementsAre("ape", "cat", "dog"));
  std::vector<std::string> names;
  std::vector<int32_t> labels;
  for (const ImageFile& file : folder.files) {
    names.push_back(file.name);
    labels.push_back(file.label);
  }
  EXPECT_THAT(names, ElementsAre("train/ape/0.jpg", "train/cat/1.jpg", "train/cat/9.jpeg",
                                 "train/dog/2.JPG", "train/dog/3.png"));
  EXPECT_THAT(labels, ElementsAre(0, 1, 1, 2, 2));
}

// A plain tar is read where it is: its headers once, and images when they are wanted.
TEST_F(Images, OfAPlainTarAreReadByRanges) {
  const std::string deep(180, 'd');  // a name that takes a header of its own
  test::Files files = {{deep + "/b/1.jpg", test::busy_jpeg(8, 8)},
                       {deep + "/notes", std::string(5000, 'x')},
                       {deep + "/a/2.png", green_png()},
                       {deep + "/b/0.jpg", test::busy_jpeg(9, 8)}};
  const std::string plain = folder_ / "plain.tar";
  test::write_archive(plain, files, Compression::None);
  const Datasets held = open(archive(files));
  const Datasets ranges = open(plain);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read_image(*ranges.train, i).image, read_image(*held.train, i).image);
    EXPECT_EQ(read_image(*ranges.train, i).label, read_image(*held.train, i).label);
  }
  const ImageFolder folder = open_image_folder(plain);
  EXPECT_TRUE(folder.held.empty());
  std::filesystem::resize_file(plain, 600);
  expect_error(ErrorKind::Data, {plain, "became shorter"},
               [&] { (void)folder.load(folder.files[0]); });
}

// Sets of the same number of files, one with a hundred times the bytes: what is kept of them, and
// what it takes to get there.
TEST_F(Images, LabelsTakeNoMoreMemoryThanTheirNumber) {
  for (const Compression compression : {Compression::None, Compression::Gzip}) {
    std::array<test::MemoryTaken, 2> taken;
    for (const size_t big : {0U, 1U}) {
      const std::string noise = test::noise_bytes(big != 0 ? 3'000'000 : 30'000);
      const std::string path = folder_ / "set.tar";
      test::write_archive(path, {{"a/0.jpg", noise}, {"b/0.jpg", noise}}, compression);
      taken[big] = test::memory_taken([&] {
        return open_datasets({.kind = "images", .train = path}, of_images(), 0, {}, {"labels"});
      });
    }
    EXPECT_LT(taken[1].held, taken[0].held + 10'000);
    EXPECT_LT(taken[1].peak, taken[0].peak + 1'000'000);
  }
}

TEST_F(Images, OpenedForTheirLabelsAreTheSame) {
  const std::string path = archive(mixed());
  const DataConfig config{.kind = "images", .train = path, .leave_out = {"ape"}};
  const Datasets all = open_datasets(config, of_images(), 0);
  const Datasets labels = open_datasets(config, of_images(), 0, {}, {"labels"});
  EXPECT_EQ(labels.labels, all.labels);
  ASSERT_EQ(labels.train->size(), all.train->size());
  for (int64_t i = 0; i < all.train->size(); ++i) {
    int32_t label = -7;
    const std::array<void*, 2> out = {nullptr, &label};
    labels.train->read(i, test::stream(0), out);
    EXPECT_EQ(label, read_image(*all.train, i).label);
  }
}

TEST_F(Images, AFolderIsTheSameAsItsArchive) {
  for (const auto& [name, contents] : mixed()) test::write_file(folder_ / name, contents);
  const Datasets packed = open(archive(mixed()));
  const Datasets loose = open(folder_ / "train");
  EXPECT_EQ(loose.labels, packed.labels);
  ASSERT_EQ(loose.train->size(), 5);
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(read_image(*loose.train, i).image, read_image(*packed.train, i).image);
    EXPECT_EQ(read_image(*loose.train, i).label, read_image(*packed.train, i).label);
  }
}

TEST_F(Images, SamplesAreNormalisedPixelsAndALabel) {
  const Datasets sets = open(archive({{"a/0.jpg", red()}, {"b/0.jpg", green()}}));
  EXPECT_EQ(sets.classes, 2);
  EXPECT_EQ(sets.train->targets_per_sample(), 1);
  EXPECT_EQ(sets.train->fields()[0].shape, Shape({8, 8, 3}));
  const auto sample = read_image(*sets.train, 1);
  EXPECT_EQ(sample.label, 1);
  for (size_t i = 0; i < sample.image.size(); i += 3) {
    EXPECT_NEAR(sample.image[i], -2, 0.05);
    EXPECT_NEAR(sample.image[i + 1], 2, 0.05);
    EXPECT_NEAR(sample.image[i + 2], -2, 0.05);
  }
}

TEST_F(Images, ResizesWhatHasAnotherSize) {
  const Datasets sets = open(archive({{"a/0.jpg", test::plain_jpeg(100, 60, {255, 255, 255})},
                                      {"b/0.jpg", test::busy_jpeg(3, 3)}}));
  for (float x : read_image(*sets.train, 0).image) EXPECT_NEAR(x, 2, 0.05);
  EXPECT_EQ(read_image(*sets.train, 1).label, 1);
}

TEST_F(Images, AugmentsTrainingOnlyAndByStream) {
  const std::string path =
      archive({{"a/0.jpg", test::busy_jpeg(8, 8)}, {"b/0.jpg", test::busy_jpeg(8, 8)}});
  const DataConfig config{
      .train = path, .validation = path, .crop_padding = 2, .flip = true, .cutout = 3};
  const Datasets sets = open_images(config, {8, 8, 3});
  const auto first = read_image(*sets.train, 0, 1).image;
  EXPECT_EQ(read_image(*sets.train, 0, 1).image, first) << "decoded or cached, it is the same";
  EXPECT_NE(read_image(*sets.train, 0, 2).image, first);
  EXPECT_EQ(read_image(*sets.validation, 0, 1).image, read_image(*sets.validation, 0, 2).image);
  EXPECT_EQ(read_image(*sets.validation, 0).image, read_image(*open(path).train, 0).image);
}

// Formats are told by the bytes of a file: what it is called says little.
TEST_F(Images, ReadsPngsWhateverTheyAreCalled) {
  const Datasets sets =
      open(archive({{"a/0.png", green_png()}, {"b/0.jpg", green_png()}, {"c/0.png", green()}}));
  for (int64_t i = 0; i < 3; ++i) {
    const std::vector<float> image = read_image(*sets.train, i).image;
    EXPECT_NEAR(image[0], -2, 0.05);
    EXPECT_NEAR(image[1], 2, 0.05);
  }
}

TEST_F(Images, ReadsLabelsWithoutDecoding) {
  const std::string path = archive({{"a/0.jpg", "no JPEG"}, {"b/0.jpg", red()}});
  const Datasets sets = open_images({.train = path, .damage_limit = 1}, {8, 8, 3});
  int32_t label = -7;
  const std::array<void*, 2> out = {nullptr, &label};
  sets.train->read(0, test::stream(0), out);
  EXPECT_EQ(label, 0);
  expect_error(ErrorKind::Data, {"no image of the class 'a' that is not damaged"},
               [&] { (void)read_image(*sets.train, 0); });
}

// Run under ThreadSanitizer, this is the proof; elsewhere it still compares the pixels.
TEST_F(Images, ManyThreadsMayReadTheSameImages) {
  test::Files files;
  for (int i = 0; i < 20; ++i) {
    files.emplace_back((i % 2 == 0 ? "a/" : "b/") + std::to_string(i) + ".jpg",
                       test::busy_jpeg(8 + i % 3, 8));
  }
  const Datasets alone = open(archive(files));
  const Datasets shared = open(archive(files));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int64_t i = 0; i < 60; ++i) {
        const std::vector<float> image = read_image(*shared.train, i % 20).image;
        if (image != read_image(*alone.train, i % 20).image) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Images, ValidationMustHaveTheSameClasses) {
  const std::string train = archive({{"a/0.jpg", red()}, {"b/0.jpg", red()}}, "train.tar.zst");
  const std::string other = archive({{"a/0.jpg", red()}, {"c/0.jpg", red()}}, "other.tar.zst");
  const std::string same = archive({{"x/a/1.jpg", red()}, {"x/b/1.jpg", red()}}, "same.tar.zst");
  EXPECT_EQ(open(train, same).validation->size(), 2);
  expect_error(ErrorKind::Input,
               {"data.train (" + train + ", 2)", "data.validation (" + other + ", 2)",
                "not the same; " + other + " lacks b; " + train + " lacks c: give both"},
               [&] { (void)open(train, other); });
  expect_error(ErrorKind::Input, {"data.validation = 0.1", "second"},
               [&] { (void)open(train, "0.1"); });
}

TEST_F(Images, RefusesFoldersAndArchivesItCannotUse) {
  const auto input = ErrorKind::Input;
  const auto refuse = [&](const test::Files& files, const std::vector<std::string>& parts) {
    expect_error(input, parts, [&] { (void)open(archive(files)); });
  };
  refuse({{"a/readme.txt", "x"}}, {"set.tar.zst", "no images"});
  refuse({}, {"set.tar.zst", "no images"});
  refuse({{"a/0.jpg", red()}, {"a/1.gif", "x"}}, {"one class only", "'a'"});
  refuse({{"0.jpg", red()}}, {"0.jpg", "no class folder"});
  refuse({{"a/0.jpg", red()}, {"b/c/0.jpg", red()}}, {"a/0.jpg", "b/c/0.jpg", "places"});
  refuse({{"train/a/0.jpg", red()}, {"test/a/0.jpg", red()}}, {"different places"});
  expect_error(ErrorKind::Data, {"a/0.jpg", "twice"}, [&] {
    (void)open(archive({{"a/0.jpg", red()}, {"b/0.jpg", red()}, {"./a/0.jpg", red()}}));
  });
  expect_error(input, {"/nowhere"}, [] { (void)open("/nowhere"); });
  std::filesystem::create_directory(folder_ / "bare");
  expect_error(input, {"bare", "no images"}, [&] { (void)open(folder_ / "bare"); });
}

// What lies in folders of images and is no image that we read, in a folder and in its archive.
const test::Files& cluttered() {
  static const test::Files kFiles = {{"cat/0.jpg", red()},
                                     {"cat/1.JFIF", red()},
                                     {"cat/2.jpe", red()},
                                     {"cat/w0.webp", "x"},
                                     {"cat/w1.WEBP", "x"},
                                     {"cat/.DS_Store", "x"},
                                     {"cat/.ipynb_checkpoints/0-checkpoint.jpg", red()},
                                     {"dog/0.png", green_png()},
                                     {"dog/b.bmp", "x"},
                                     {"dog/notes", "x"},
                                     {"fox/only.webp", "x"},
                                     {".ipynb_checkpoints/1-checkpoint.jpg", red()},
                                     {"@eaDir/2.jpg", red()},
                                     {"__MACOSX/cat/3.jpg", red()}};
  return kFiles;
}

TEST_F(Images, SayWhatThereIsAndWhatIsNotRead) {
  for (const auto& [name, contents] : cluttered())
    test::write_file(folder_ / "set/" + name, contents);
  const std::string loose = folder_ / "set";
  const std::string packed = archive(cluttered());
  for (const std::string& path : {loose, packed}) {
    const Datasets sets = open(path);
    EXPECT_EQ(sets.note,
              "images      4 images in 2 classes of " + path +
                  ": cat, dog\n"
                  "            files not read, for they are no JPEG or PNG by name: 3 .webp, 1 "
                  "without an ending, 1 .bmp, 1 hidden\n"
                  "            folders passed over: .ipynb_checkpoints (2), @eaDir, __MACOSX\n"
                  "            folders without a JPEG or PNG, which are no classes: fox");
    EXPECT_EQ(sets.labels, (std::vector<std::string>{"cat", "dog"}));
    EXPECT_EQ(sets.train->size(), 4);
  }
  std::filesystem::create_directory(loose + "/emu");
  EXPECT_THAT(open(loose).note, testing::EndsWith("no classes: emu, fox"));
  const std::string clean = archive({{"b/0.jpg", red()}, {"a/0.jpg", red()}}, "clean.tar.zst");
  EXPECT_EQ(open(clean).note, "images      2 images in 2 classes of " + clean + ": a, b");
  EXPECT_THAT(open(loose, packed).note, testing::HasSubstr("no classes: emu, fox\nimages      4"));
}

// Validation images of one class alone were once refused with the advice to give the folder above.
TEST_F(Images, ToValidateOnHaveTheClassesOfThoseToTrainOn) {
  test::Files all;
  for (char c = 'a'; c < 'a' + 15; ++c) all.emplace_back(std::string(1, c) + "/0.jpg", red());
  const std::string train = archive(all, "train.tar.zst");
  const std::string one = archive({{"c/0.jpg", red()}}, "one.tar.zst");
  expect_error(ErrorKind::Input,
               {"(" + one + ", 1)", one + " lacks a, b, d, e, f, g, h, i, j, k and 4 others: "},
               [&] { (void)open(train, one); });
  const std::string few = archive({{"a/0.jpg", red()}, {"b/0.jpg", red()}}, "few.tar.zst");
  const std::string three =
      archive({{"a/0.jpg", red()}, {"b/0.jpg", red()}, {"c/0.jpg", red()}}, "three.tar.zst");
  expect_error(ErrorKind::Input, {few + " lacks c: "}, [&] { (void)open(three, few); });
  expect_error(ErrorKind::Input, {few + " lacks c: "}, [&] { (void)open(few, three); });
  // The advice of the message works.
  for (const auto& [more, less] : {std::pair(three, few), std::pair(few, three)}) {
    const DataConfig config{.train = more, .validation = less, .leave_out = {"c"}};
    const Datasets sets = open_images(config, {8, 8, 3});
    EXPECT_EQ(sets.labels, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(sets.validation->size(), 2);
  }
}

TEST_F(Images, NameClassesUpToTwenty) {
  test::Files files;
  for (char c = 'a'; c < 'a' + 21; ++c) files.emplace_back(std::string(1, c) + "/0.jpg", red());
  EXPECT_THAT(open(archive(files)).note, testing::EndsWith(": a to u"));
  files.pop_back();
  EXPECT_THAT(open(archive(files)).note,
              testing::EndsWith(": a, b, c, d, e, f, g, h, i, j, k, l, m, n, "
                                "o, p, q, r, s, t"));
}

TEST_F(Images, WhereNothingIsReadAreToldWhatThereIs) {
  expect_error(ErrorKind::Input, {"no images", "not read: 2 .webp, 1 .txt"}, [&] {
    (void)open(archive({{"a/0.webp", "x"}, {"b/0.webp", "x"}, {"b/0.txt", "x"}}));
  });
}

TEST_F(Images, RefusesACutOffArchive) {
  const std::string path = archive({{"a/0.jpg", test::busy_jpeg(8, 8)}, {"b/0.jpg", red()}});
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  expect_error(ErrorKind::Data, {path, "byte"}, [&] { (void)open(path); });
}

TEST_F(Images, RefusesAugmentationThatDoesNotFit) {
  const std::string path = archive({{"a/0.jpg", red()}, {"b/0.jpg", red()}});
  const auto with = [&](DataConfig config, const Shape& image) {
    config.train = path;
    return open_images(config, image);
  };
  EXPECT_EQ(with({.crop_padding = 7}, {8, 8, 3}).classes, 2);
  expect_error(ErrorKind::Input, {"data.crop_padding = 8"}, [&] {
    (void)with({.crop_padding = 8}, {8, 8, 3});
  });
  expect_error(ErrorKind::Input, {"data.crop_padding"}, [&] {
    (void)with({.crop_padding = -1}, {8, 8, 3});
  });
  expect_error(ErrorKind::Input, {"data.cutout"}, [&] { (void)with({.cutout = -1}, {8, 8, 3}); });
  expect_error(ErrorKind::Input, {"1 or 3 channels"}, [&] { (void)with({}, {8, 8, 4}); });
  expect_error(ErrorKind::Input, {"data.mean"}, [&] { (void)with({.mean = {0}}, {8, 8, 3}); });
}

TEST_F(Images, LeavesOutClassesAndNumbersTheOthersByName) {
  const std::string path = archive({{"d/0.jpg", red()},
                                    {"a/0.jpg", red()},
                                    {"c/0.jpg", red()},
                                    {"b/0.jpg", red()},
                                    {"b/1.jpg", red()}});
  const DataConfig config{.train = path, .validation = path, .leave_out = {"b", "a"}};
  const Datasets sets = open_images(config, {8, 8, 3});
  EXPECT_EQ(sets.classes, 2);
  EXPECT_EQ(sets.labels, (std::vector<std::string>{"c", "d"}));
  ASSERT_EQ(sets.train->size(), 2);
  ASSERT_EQ(sets.validation->size(), 2);
  EXPECT_EQ(read_image(*sets.train, 0).label, 0);
  EXPECT_EQ(read_image(*sets.validation, 1).label, 1);
}

TEST_F(Images, RefusesToLeaveOutWhatIsNotThereOrTooMuch) {
  const std::string path =
      archive({{"truck/0.jpg", red()}, {"ship/0.jpg", red()}, {"frog/0.jpg", red()}});
  const auto without = [&](const std::vector<std::string>& classes) {
    (void)open_images({.train = path, .leave_out = classes}, {8, 8, 3});
  };
  EXPECT_NO_THROW(without({"truck"}));
  expect_error(ErrorKind::Input, {"data.leave_out", path, "'truk'", "did you mean 'truck'?"}, [&] {
    without({"ship", "truk"});
  });
  expect_error(ErrorKind::Input, {"data.leave_out leaves 1 of the 3 classes"}, [&] {
    without({"truck", "ship"});
  });
}

}  // namespace
}  // namespace penstock

// Text: windows of bytes, the split, and what is refused.
#include "runtime/data/datasets/text/text.h"

#include <filesystem>
#include <set>

#include "fixtures.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using test::expect_error;
using test::read_text;
using testing::ElementsAre;

class Text : public testing::Test {
 protected:
  // The file holds its own positions: byte i is i.
  Datasets open(int n, const std::string& validation, int64_t context, bool shuffle = true) {
    std::string contents;
    for (int i = 0; i < n; ++i) contents += static_cast<char>(i);
    test::write_file(path_, contents);
    DataConfig config{.kind = "text", .train = path_, .validation = validation};
    config.shuffle = shuffle;
    return open_text(config, context);
  }

  TemporaryFolder folder_;
  std::string path_ = folder_ / "input.txt";
};

TEST_F(Text, DescribesItself) {
  const Datasets sets = open(101, "", 10);
  EXPECT_EQ(sets.vocabulary, 256);
  EXPECT_EQ(sets.train->size(), 10);
  EXPECT_EQ(sets.train->targets_per_sample(), 10);
  EXPECT_EQ(sets.train->fields()[0].name, "tokens");
  EXPECT_EQ(sets.train->fields()[1].name, "labels");
  EXPECT_EQ(sets.validation, nullptr);
}

TEST_F(Text, UnshuffledWindowsLieEndToEnd) {
  const Datasets sets = open(10, "", 3, false);
  ASSERT_EQ(sets.train->size(), 3);
  EXPECT_THAT(read_text(*sets.train, 1, 5).tokens, ElementsAre(3, 4, 5));
  EXPECT_THAT(read_text(*sets.train, 2, 9).tokens, ElementsAre(6, 7, 8));
  EXPECT_THAT(read_text(*sets.train, 2, 9).labels, ElementsAre(7, 8, 9));
}

TEST_F(Text, MovingWindowsVaryAndStayInsideTheFile) {
  const Datasets sets = open(23, "", 10);
  ASSERT_EQ(sets.train->size(), 2);
  std::array<std::set<int32_t>, 2> starts;
  for (int64_t index : {0, 1}) {
    for (uint64_t draw = 0; draw < 300; ++draw) {
      const auto sample = read_text(*sets.train, index, draw);
      const int32_t start = sample.tokens[0];
      starts[static_cast<size_t>(index)].insert(start);
      for (int32_t i = 0; i < 10; ++i) {
        ASSERT_EQ(sample.tokens[static_cast<size_t>(i)], start + i);
        ASSERT_EQ(sample.labels[static_cast<size_t>(i)], start + i + 1);
      }
    }
  }
  EXPECT_THAT(starts[0], ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(starts[1], ElementsAre(10, 11, 12)) << "12 + 10 is the last byte";
}

TEST_F(Text, ShareSplitsTheEndOffAndCoversAllOfIt) {
  const Datasets sets = open(100, "0.25", 10);
  EXPECT_EQ(sets.train->size(), 7);
  for (uint64_t draw = 0; draw < 100; ++draw) {
    EXPECT_LE(read_text(*sets.train, 6, draw).labels.back(), 74) << "validation leaked";
  }
  const Dataset& validation = *sets.validation;
  ASSERT_EQ(validation.size(), 3);
  std::vector<int32_t> targets;
  for (int64_t i = 0; i < 3; ++i) {
    const auto sample = read_text(validation, i, static_cast<uint64_t>(i));
    for (int32_t label : sample.labels) {
      if (label >= 0) targets.push_back(label);
    }
  }
  std::vector<int32_t> all;
  for (int32_t i = 76; i < 100; ++i) all.push_back(i);
  EXPECT_EQ(targets, all);
  const auto last = read_text(validation, 2);
  EXPECT_THAT(last.tokens, ElementsAre(95, 96, 97, 98, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(last.labels, ElementsAre(96, 97, 98, 99, -1, -1, -1, -1, -1, -1));
}

TEST_F(Text, ValidationMayBeAnotherFile) {
  test::write_file(folder_ / "other.txt", "abc");
  const Datasets sets = open(100, folder_ / "other.txt", 4);
  EXPECT_EQ(sets.train->size(), 24);
  EXPECT_THAT(read_text(*sets.validation, 0).labels, ElementsAre('b', 'c', -1, -1));
}

TEST_F(Text, BytesAreUnsigned) {
  test::write_file(path_, "\xff\x80\x7f");
  const Datasets sets = open_text({.kind = "text", .train = path_}, 2);
  EXPECT_THAT(read_text(*sets.train, 0).tokens, ElementsAre(255, 128));
}

TEST_F(Text, ReadsWindowsLongerThanItsBuffer) {
  std::string contents;
  for (uint64_t i = 0; i < 10001; ++i) contents += static_cast<char>(mix(i));
  test::write_file(path_, contents);
  const Datasets sets = open_text({.kind = "text", .train = path_}, 10000);
  const auto sample = read_text(*sets.train, 0);
  for (size_t i = 0; i < 10000; ++i) {
    ASSERT_EQ(sample.tokens[i], static_cast<uint8_t>(contents[i]));
    ASSERT_EQ(sample.labels[i], static_cast<uint8_t>(contents[i + 1]));
  }
}

TEST_F(Text, LeavesUnwantedFieldsAlone) {
  const Datasets sets = open(11, "", 10);
  std::vector<int32_t> labels(10);
  const std::array<void*, 2> out = {nullptr, labels.data()};
  sets.train->read(0, test::stream(0), out);
  EXPECT_EQ(labels[9], 10);
}

TEST_F(Text, RefusesWhatItCannotUse) {
  const auto input = ErrorKind::Input;
  expect_error(input, {"/nowhere/x.txt", "No such file"},
               [] { (void)open_text({.train = "/nowhere/x.txt"}, 8); });
  expect_error(input, {"not a regular file"}, [] { (void)open_text({.train = "/tmp"}, 8); });
  expect_error(input, {path_, "is empty"}, [&] { (void)open(0, "", 8); });
  expect_error(input, {path_, "8 bytes", "needs 9"}, [&] { (void)open(8, "", 8); });
  EXPECT_EQ(open(9, "", 8).train->size(), 1);
  expect_error(input, {path_, "5 bytes", "model.context = 8"}, [&] { (void)open(10, "0.5", 8); });
  expect_error(input, {path_, "1 byte ", "data.validation"}, [&] { (void)open(100, "0.01", 8); });
  for (const char* share : {"0", "1", "1.5", "-0.1", "nan", "inf"}) {
    expect_error(input, {"data.validation", share}, [&] { (void)open(100, share, 8); });
  }
  expect_error(input, {"0.1x", "No such file"}, [&] { (void)open(100, "0.1x", 8); });
}

TEST_F(Text, NoticesAFileThatShrinks) {
  const Datasets sets = open(100, "", 10, false);
  std::filesystem::resize_file(path_, 50);
  EXPECT_EQ(read_text(*sets.train, 0).tokens[9], 9);
  expect_error(ErrorKind::Data, {path_, "shorter", "before byte 80", "had 100"},
               [&] { (void)read_text(*sets.train, 8); });
}

TEST_F(Text, ShakespeareSplitsAsEverybodySplitsIt) {
  const std::string path = std::string(PENSTOCK_SHARED_DATA) + "/tinyshakespeare/input.txt";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "needs Shakespeare's text as " << path
                 << " (launch/examples/README.md says where it is)";
  }
  const Datasets sets = open_text({.train = path, .validation = "0.1"}, 64);
  EXPECT_EQ(sets.train->size(), (1003854 - 1) / 64);
  EXPECT_EQ(sets.validation->size(), (1115394 - 1003854 - 1 + 63) / 64);
  std::string start;
  for (int32_t token : read_text(*sets.validation, 0).tokens) start += static_cast<char>(token);
  EXPECT_EQ(start.substr(0, 12), "?\n\nGREMIO:\nG");
}

}  // namespace
}  // namespace penstock

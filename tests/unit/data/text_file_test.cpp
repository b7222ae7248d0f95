// Text files give the same lines however they are compressed, and no damage passes for an end.
#include "runtime/data/tokens/text_file.h"

#include "fixtures.h"
#include "runtime/data/tokens/token_source.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using test::Compression;
using test::expect_error;
using testing::ElementsAre;

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  for_each_line(path, [&](std::string_view line) { lines.emplace_back(line); });
  return lines;
}

class TextFile : public testing::TestWithParam<Compression> {
 protected:
  void write(const std::string& contents) {
    if (GetParam() == Compression::None) {
      test::write_file(path_, contents);
    } else {
      test::write_compressed(path_, contents, GetParam());
    }
  }
  TemporaryFolder folder_;
  std::string path_ = folder_ / "text";
};

TEST_P(TextFile, GivesItsLines) {
  write("one\ntwo\r\n\nfour, without an end");
  EXPECT_THAT(lines_of(path_), ElementsAre("one", "two", "", "four, without an end"));
  EXPECT_EQ(is_compressed(path_), GetParam() != Compression::None);
}

TEST_P(TextFile, GivesLinesLongerThanItsBuffer) {
  std::vector<std::string> lines = test::sentences(1, 30000);
  lines.push_back(std::string(300'000, 'x'));
  lines.emplace_back("short");
  write(test::joined_lines(lines));
  EXPECT_EQ(lines_of(path_), lines);
}

TEST_P(TextFile, GivesAllItsBytes) {
  std::string bytes;
  for (uint64_t i = 0; i < 100'000; ++i) bytes += static_cast<char>(mix(i));
  write(bytes);
  const std::vector<uint8_t> read = read_whole_file(path_);
  EXPECT_EQ(std::string(read.begin(), read.end()), bytes);
}

TEST_P(TextFile, MayBeEmpty) {
  write("");
  EXPECT_TRUE(lines_of(path_).empty());
}

TEST_P(TextFile, ThatIsCutOffIsRefused) {
  if (GetParam() == Compression::None) {
    GTEST_SKIP() << "does not apply to plain text, whose end has no mark; gzip and zstd are tested";
  }
  for (const uint64_t n : {30, 100'000}) {  // of which the first comes out in one piece
    std::string bytes;
    for (uint64_t i = 0; i < n; ++i) bytes += static_cast<char>(mix(i));
    write(bytes);
    const std::string whole = test::read_file(path_);
    for (const size_t size : {whole.size() / 2, whole.size() - 9}) {
      test::write_file(path_, whole.substr(0, size));
      const bool is_gzip = GetParam() == Compression::Gzip;
      expect_error(ErrorKind::Data,
                   {path_ + ", byte " + std::to_string(size) + ": ",
                    is_gzip ? "it is cut off" : "the file ends within its compressed data"},
                   [&] { (void)read_whole_file(path_); });
    }
  }
}

// A file whose head was damaged was read as a text, with a replacement character for each byte.
TEST_P(TextFile, WithADamagedHeadIsRefused) {
  if (GetParam() == Compression::None) GTEST_SKIP() << "does not apply to plain text";
  constexpr std::array<const char*, 5> kNames = {"", ".gz", ".zst", ".bz2", ".xz"};
  write("one\ntwo\n");
  const std::string whole = test::read_file(path_);
  const std::string named = path_ + kNames[static_cast<size_t>(GetParam())];
  for (size_t at = 0; at < 4; ++at) {
    std::string damaged = whole;
    damaged[at] = '#';
    test::write_file(named, damaged);
    expect_error(ErrorKind::Data, {named + ", byte "}, [&] { (void)read_whole_file(named); });
  }
  test::write_file(named, whole);
  EXPECT_THAT(lines_of(named), ElementsAre("one", "two"));
  test::write_file(named, "one\ntwo\n");
  expect_error(ErrorKind::Data, {named, "its name ends in .", "rename it if it is a plain one"},
               [&] { (void)read_whole_file(named); });
  expect_error(ErrorKind::Data, {named, "its name ends in ."}, [&] { (void)open_bytes(named, 0); });
}

// Of bzip2 the head is ten bytes, of which any three would do for a text.
TEST(TextFileErrors, NameADamagedHeadOfBzip2) {
  const TemporaryFolder folder;
  const std::string path = folder / "text";
  test::write_compressed(path, "one\ntwo\n", Compression::Bzip2);
  const std::string whole = test::read_file(path);
  for (size_t at = 3; at < 10; ++at) {
    std::string damaged = whole;
    damaged[at] = '#';
    test::write_file(path, damaged);
    expect_error(ErrorKind::Data, {path + ", byte ", "it begins as a compressed file does"},
                 [&] { (void)read_whole_file(path); });
  }
}

// The second half of a text was left out without a word where `cat a.gz b.gz` was damaged.
TEST_P(TextFile, OfSeveralMembersIsWholeOrRefused) {
  if (GetParam() == Compression::None) GTEST_SKIP() << "does not apply to plain text";
  write("one\ntwo\n");
  const std::string member = test::read_file(path_);
  test::write_file(path_, member + member);
  EXPECT_THAT(lines_of(path_), ElementsAre("one", "two", "one", "two"));
  std::string damaged = member;
  damaged[0] = 'X';
  for (const std::string& second :
       {damaged, member.substr(0, 3), member.substr(0, member.size() - 1), std::string("more")}) {
    test::write_file(path_, member + second);
    expect_error(ErrorKind::Data, {path_ + ", byte ", "make or download it again"},
                 [&] { (void)lines_of(path_); });
  }
}

// What gzip and bzip2 keep checksums of: no byte of it may change, and zeros may stand behind it.
TEST_P(TextFile, IsCheckedAgainstItsChecksums) {
  if (GetParam() != Compression::Gzip && GetParam() != Compression::Bzip2) {
    GTEST_SKIP() << "does not apply to formats whose checksums may be left out";
  }
  write("a line of text\nand another\n");
  const std::string member = test::read_file(path_);
  const std::string whole = member + member;
  const auto read = [&](const std::string& contents) {
    test::write_file(path_, contents);
    return lines_of(path_);
  };
  const std::vector<std::string> expected = read(whole);
  ASSERT_EQ(expected.size(), 4U);
  EXPECT_EQ(read(whole + std::string(5000, '\0')), expected);
  expect_error(ErrorKind::Data, {path_ + ", byte "},
               [&] { (void)read(whole + std::string(5000, '\0') + "x"); });
  constexpr size_t kName = 3;  // bytes by which they are known: without them it is plain text
  for (size_t at = kName; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    try {
      EXPECT_EQ(read(damaged), expected) << "byte " << at;  // such as a date
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Data) << error.what();
    }
  }
}

std::string name_of_compression(const testing::TestParamInfo<Compression>& info) {
  constexpr std::array<const char*, 5> kNames = {"plain", "gzip", "zstd", "bzip2", "xz"};
  return kNames[static_cast<size_t>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Compressions, TextFile,
                         testing::Values(Compression::None, Compression::Gzip, Compression::Zstd,
                                         Compression::Bzip2, Compression::Xz),
                         name_of_compression);

// Parquet, zip and UTF-16 files were trained on as texts.
TEST(TextFileErrors, NameFilesThatAreNoTexts) {
  using namespace std::string_literals;
  const TemporaryFolder folder;
  const std::string path = folder / "text";
  const auto refused = [&](const std::string& contents, const std::string& why) {
    for (const Compression compression : {Compression::None, Compression::Gzip}) {
      if (compression == Compression::None) {
        test::write_file(path, contents);
      } else {
        test::write_compressed(path, contents, compression);
      }
      expect_error(ErrorKind::Data, {path, why}, [&] { (void)lines_of(path); });
      expect_error(ErrorKind::Data, {path, why}, [&] { (void)open_bytes(path); });
    }
  };
  refused("PAR1\x15\4", "is a Parquet file, and plain text and lines of JSON are read");
  refused("ARROW1\0\0"s, "is an Arrow file");
  refused("PK\3\4 ", "is a zip archive: unpack it");
  refused("\x93NUMPY\1", "is a file of numpy: data.kind = \"tokens\" reads it");
  refused("PSTOKENS\1", "data.kind = \"tokens\"");
  refused("\x40\1\0\0\0\0\0\0{\"a\""s, "is a safetensors file");
  refused("\xFF\xFEt\0h\0e\0"s, "it is UTF-16, as PowerShell writes files");
  refused("\xFE\xFF\0t"s, "it is UTF-16");
  refused("\xFF\xFE\0\0t\0\0\0"s, "it is UTF-32: save it as UTF-8");
  refused("\0\0\xFE\xFF\0\0\0t"s, "it is UTF-32");
  test::write_archive(folder / "tar", {{"a", "text"}}, Compression::None);
  refused(test::read_file(folder / "tar"), "is a tar archive: unpack it");
  const std::string any = "\x80\2}q\0 bytes"s;
  test::write_file(path, any);
  EXPECT_EQ(open_bytes(path)->size(), std::ssize(any)) << "bytes may be any";
}

TEST(TextFileErrors, NameTheFile) {
  const TemporaryFolder folder;
  expect_error(ErrorKind::Input, {"/nowhere"}, [&] { (void)lines_of(folder / "nowhere"); });
  expect_error(ErrorKind::Input, {"not a regular file"}, [&] { (void)lines_of(folder / ""); });
}

}  // namespace
}  // namespace penstock

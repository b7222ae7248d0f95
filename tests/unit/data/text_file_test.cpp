// Text files give the same lines however they are compressed, and no damage passes for an end.
#include "runtime/data/tokens/text_file.h"

#include "fixtures.h"
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
  std::string bytes;
  for (uint64_t i = 0; i < 100'000; ++i) bytes += static_cast<char>(mix(i));
  write(bytes);
  const std::string whole = test::read_file(path_);
  for (const size_t size : {whole.size() / 2, whole.size() - 9}) {
    test::write_file(path_, whole.substr(0, size));
    expect_error(ErrorKind::Data, {path_, ", byte "}, [&] { (void)read_whole_file(path_); });
  }
}

std::string name_of_compression(const testing::TestParamInfo<Compression>& info) {
  constexpr std::array<const char*, 3> kNames = {"plain", "gzip", "zstd"};
  return kNames[static_cast<size_t>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Compressions, TextFile,
                         testing::Values(Compression::None, Compression::Gzip, Compression::Zstd),
                         name_of_compression);

TEST(TextFileErrors, NameTheFile) {
  const TemporaryFolder folder;
  expect_error(ErrorKind::Input, {"/nowhere"}, [&] { (void)lines_of(folder / "nowhere"); });
  expect_error(ErrorKind::Input, {"not a regular file"}, [&] { (void)lines_of(folder / ""); });
}

}  // namespace
}  // namespace penstock

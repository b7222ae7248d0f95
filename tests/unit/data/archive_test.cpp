// Archives are read as they were written, and no damage passes for an end.
#include "runtime/data/datasets/images/decoding/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <clocale>
#include <filesystem>

#include "fixtures.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using test::Compression;
using test::expect_error;

class Archive : public testing::TestWithParam<Compression> {
 protected:
  void write(const test::Files& files) { test::write_archive(path_, files, GetParam()); }
  test::Files read() {
    test::Files files;
    read_archive(
        path_, [](const std::string& name) { return !name.ends_with(".txt"); },
        [&](const std::string& name, const std::vector<uint8_t>& contents) {
          files.emplace_back(name, std::string(contents.begin(), contents.end()));
        });
    return files;
  }

  // Walks over all files without reading them; asks where their bytes are, which only a plain
  // archive tells.
  void pass_over() {
    for (ArchiveWalk walk(path_); walk.next();) (void)walk.offset();
  }

  TemporaryFolder folder_;
  std::string path_ = folder_ / "set";
};

std::string noise(uint64_t seed, size_t n) {
  std::string bytes;
  for (uint64_t i = 0; i < n; ++i) bytes += static_cast<char>(mix(seed * 1000003 + i));
  return bytes;
}

TEST_P(Archive, GivesTheWantedFilesInOrder) {
  const test::Files files = {{"b/1", noise(1, 70000)}, {"a/2", noise(2, 10)}, {"a/3", ""}};
  write({files[0], {"readme.txt", noise(4, 3000)}, files[1], files[2]});
  EXPECT_EQ(read(), files);
}

TEST_P(Archive, KeepsNamesThatAreNotAscii) {
  ASSERT_NE(std::setlocale(LC_ALL, "C.UTF-8"), nullptr);
  write({{"caf\xc3\xa9/1", "x"}});
  std::setlocale(LC_ALL, "C");  // what a program has that never calls setlocale
  EXPECT_EQ(read(), (test::Files{{"caf\xc3\xa9/1", "x"}}));
}

TEST_P(Archive, RefusesEveryTruncation) {
  write({{"a/1", noise(1, 2000)}, {"skipped.txt", noise(2, 2000)}, {"b/2", noise(3, 2000)}});
  const std::string whole = test::read_file(path_);
  ASSERT_EQ(read().size(), 2U);
  // A plain tar ends with a block of zeros; the kilobytes after it are padding that nobody needs.
  const size_t end = GetParam() == Compression::None
                         ? (whole.find_last_not_of('\0') / 512 + 1) * 512 + 512
                         : whole.size();
  for (size_t n = end; n-- > 0;) {
    if (n + 600 < end && n % 512 != 0 && n % 61 != 0) continue;
    std::filesystem::resize_file(path_, n);
    expect_error(ErrorKind::Data, {path_ + ", byte "}, [&] { (void)read(); });
    expect_error(ErrorKind::Data, {path_ + ", byte "}, [&] { pass_over(); });
    if (HasFailure()) FAIL() << "cut off at " << n << " of " << whole.size();
  }
}

TEST_P(Archive, RefusesWhatIsNoArchive) {
  test::write_file(path_, "To be, or not to be: that is the question");
  expect_error(ErrorKind::Data, {path_, "format"}, [&] { (void)read(); });
  std::filesystem::remove(path_);
  expect_error(ErrorKind::Input, {path_}, [&] { (void)read(); });
}

std::string name_of(const testing::TestParamInfo<Compression>& compression) {
  const std::array<std::string, 3> names = {"tar", "gzip", "zstd"};
  return names[static_cast<size_t>(compression.param)];
}

INSTANTIATE_TEST_SUITE_P(Compressions, Archive,
                         testing::Values(Compression::None, Compression::Gzip, Compression::Zstd),
                         name_of);

TEST(ArchiveTar, RefusesFilesWithHoles) {
  const TemporaryFolder folder;
  const std::string path = folder / "set.tar";
  archive* const out = archive_write_new();
  archive_write_set_format_pax_restricted(out);
  ASSERT_EQ(archive_write_open_filename(out, path.c_str()), ARCHIVE_OK);
  archive_entry* const entry = archive_entry_new();
  archive_entry_set_pathname(entry, "a/holes.jpg");
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_entry_set_size(entry, 100'000);
  archive_entry_sparse_add_entry(entry, 50'000, 10);
  EXPECT_EQ(archive_write_header(out, entry), ARCHIVE_OK);
  const std::string bytes(100'000, 'x');
  EXPECT_EQ(archive_write_data(out, bytes.data(), bytes.size()), 100'000);
  archive_entry_free(entry);
  archive_write_free(out);
  ArchiveWalk walk(path);
  ASSERT_TRUE(walk.next());
  EXPECT_EQ(walk.name(), "a/holes.jpg");
  expect_error(ErrorKind::Data, {path + ", byte ", "a/holes.jpg", "holes"},
               [&] { (void)walk.offset(); });
}

TEST(ArchiveTar, RefusesADamagedHeader) {
  const TemporaryFolder folder;
  const std::string path = folder / "set.tar";
  test::write_archive(path, {{"a/1", noise(1, 100)}, {"b/2", noise(2, 100)}}, Compression::None);
  std::string bytes = test::read_file(path);
  bytes[bytes.find("b/2")] = 'c';
  test::write_file(path, bytes);
  expect_error(ErrorKind::Data, {path}, [&] {
    read_archive(
        path, [](const std::string&) { return true; },
        [](const std::string&, const std::vector<uint8_t>&) {});
  });
}

}  // namespace
}  // namespace penstock

// The room of files: whose a file is decides what an error is; a file that is written anew is never
// found half; JSON that two readers could read differently is refused, with its place.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>

#include "kernels/error.h"
#include "runtime/system/files/atomic_file.h"
#include "runtime/system/files/input_file.h"
#include "runtime/system/files/json.h"
#include "runtime/system/files/long_work.h"
#include "runtime/system/files/proc.h"
#include "tests/support/processor_time.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class Files : public testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::string made(const std::string& name, const std::string& text) const {
    return folder_.write(name, text);
  }
  [[nodiscard]] static std::string text_of(const std::string& path) {
    return read_text(path, 1 << 20, FileOwner::User);
  }

 private:
  TemporaryFolder folder_;
};

std::string refused(ErrorKind kind, const std::function<void()>& use) {
  try {
    use();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "nothing was refused";
}

TEST_F(Files, OfAUserMayBeLinksAndOfARunMayNot) {
  const std::string file = made("file", "text");
  fs::create_symlink(file, at("link"));
  EXPECT_EQ(read_text(at("link"), 4, FileOwner::User), "text");
  EXPECT_THAT(refused(ErrorKind::Data, [&] { (void)read_text(at("link"), 4, FileOwner::Run); }),
              HasSubstr("link is a symbolic link"));
  for (const auto& [owner, kind] :
       {std::pair(FileOwner::User, ErrorKind::Input), std::pair(FileOwner::Run, ErrorKind::Data)}) {
    const auto read = [&, owner = owner](const std::string& path) {
      return [&, path, owner] { (void)read_text(path, 3, owner); };
    };
    EXPECT_THAT(refused(kind, read(at("none"))), HasSubstr(at("none")));
    EXPECT_THAT(refused(kind, read(at("."))), HasSubstr("not a regular file"));
    EXPECT_THAT(refused(kind, read(file)), HasSubstr("has 4 bytes, more than the 3"));
  }
}

// Whatever a user names; a text that is longer than any pointer may begin like one, and a run's own
// files have come from nowhere.
TEST_F(Files, OfAUserAreNoPointersOfGitLfs) {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
  const std::string file = made("corpus.txt", pointer);
  EXPECT_THAT(refused(ErrorKind::Data, [&] { (void)InputFile(file); }),
              AllOf(HasSubstr(file + " is a pointer of git-lfs"), HasSubstr("git lfs pull")));
  EXPECT_EQ(read_text(file, 1 << 20, FileOwner::Run), pointer);
  const std::string text = pointer + std::string(1024, '.');
  EXPECT_EQ(text_of(made("long.txt", text)), text);
}

TEST_F(Files, AreReplacedWholeOrNotAtAll) {
  const std::string file = made("file", "before");
  {
    AtomicFile replacement(file);
    replacement.write("half", 4);
    EXPECT_EQ(text_of(file), "before");
  }
  EXPECT_FALSE(fs::exists(file + ".new")) << "what was not committed is removed";
  EXPECT_EQ(text_of(file), "before");
  replace_file(file, "after");
  EXPECT_EQ(text_of(file), "after");
  EXPECT_THAT(refused(ErrorKind::Resource, [&] { replace_file(at("none/file"), "x"); }),
              HasSubstr("none/file.new: No such file"));
}

// What only its owner could read used to be everybody's once it was replaced.
TEST_F(Files, KeepTheirRightsWhenTheyAreReplaced) {
  const std::string file = made("file", "before");
  for (const auto rights :
       {fs::perms::owner_read | fs::perms::owner_write,
        fs::perms::owner_all | fs::perms::group_read | fs::perms::group_write}) {
    fs::permissions(file, rights);
    replace_file(file, "after");
    EXPECT_EQ(fs::status(file).permissions(), rights);
  }
}

TEST(OneLine, CutsNoCharacterInTwo) {
  for (const size_t before : {7998U, 7999U, 8000U}) {
    const std::string line = one_line(std::string(before, 'x') + "\xe2\x82\xac and so on");
    EXPECT_EQ(line, std::string(before, 'x') + "...") << before;
  }
  EXPECT_EQ(one_line(std::string(7997, 'x') + "\xe2\x82\xac and so on"),
            std::string(7997, 'x') + "\xe2\x82\xac...");
}

// They used to be replaced by regular files.
TEST_F(Files, ThatAreLinksStayLinksAndTheirTargetsAreReplaced) {
  fs::create_directory(at("folder"));
  (void)made("folder/target", "before");
  fs::create_symlink("folder/target", at("link"));
  fs::create_symlink(at("link"), at("second"));
  for (const char* name : {"link", "second"}) {
    replace_file(at(name), name);
    EXPECT_TRUE(fs::is_symlink(at(name)));
    EXPECT_EQ(text_of(at("folder/target")), name);
  }
  fs::create_symlink("folder/new", at("dangling"));
  replace_file(at("dangling"), "text");
  EXPECT_EQ(text_of(at("folder/new")), "text");
  fs::create_symlink("round", at("round"));
  EXPECT_THAT(refused(ErrorKind::Resource, [&] { replace_file(at("round"), "x"); }),
              HasSubstr("round: it is a link that leads round in a circle"));
}

TEST_F(Files, ThatArePipesOrDevicesAreWrittenTo) {
  const std::string fifo = at("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(refused(ErrorKind::Resource, [&] { replace_file(fifo, "x"); }),
              HasSubstr("fifo: it is a pipe that nobody reads; name a file"));
  const Descriptor reader(open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_GE(reader.value(), 0);
  fs::create_symlink(fifo, at("link"));
  // What a shell makes of --out /dev/stdout and of --out >(gzip >page.gz).
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const Descriptor out(ends[0]);
  const Descriptor in(ends[1]);
  const Descriptor open_file(
      open(made("open", "before ").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  const auto text_from = [](const Descriptor& from) {
    std::array<char, 64> text{};
    const ssize_t bytes = read(from.value(), text.data(), text.size());
    return std::string(text.data(), static_cast<size_t>(std::max<ssize_t>(bytes, 0)));
  };
  replace_file(fifo, "one");
  EXPECT_EQ(text_from(reader), "one");
  replace_file(at("link"), "two");
  EXPECT_EQ(text_from(reader), "two");
  replace_file("/proc/self/fd/" + std::to_string(in.value()), "three");
  EXPECT_EQ(text_from(out), "three");
  replace_file("/dev/fd/" + std::to_string(open_file.value()), "four");
  EXPECT_EQ(text_of(at("open")), "before four");
  EXPECT_TRUE(fs::is_fifo(fifo));
  EXPECT_FALSE(fs::exists(fifo + ".new"));
  EXPECT_THAT(refused(ErrorKind::Resource, [&] { replace_file(at("."), "x"); }),
              HasSubstr("it is a directory; name a file"));
}

TEST(LongWork, EndsWhereAStopIsAskedForAndSaysHowFarItIs) {
  constexpr int64_t kMebi = int64_t{1} << 20;
  std::string stop;
  std::vector<std::string> said;
  {
    const WatchOverLongWork watch({.stop = [&] { return stop; },
                                   .say = [&](const std::string& line) { said.push_back(line); },
                                   .patience = std::chrono::milliseconds(0)});
    LongWork known("reading a.txt", 8 * kMebi);
    known.is_at(2 * kMebi);
    LongWork unknown("reading b", 0);
    unknown.went_on(kMebi);
    EXPECT_THAT(said,
                testing::ElementsAre("reading a.txt: 0 % of 8 MiB", "reading b: 0 MiB so far"))
        << "then once a minute";
    stop = "SIGTERM";
    known.went_on(1);  // not each byte is worth a look
    EXPECT_EQ(
        refused(ErrorKind::Stopped, [&] { known.went_on(2 * kMebi); }),
        "SIGTERM before the first step, while reading a.txt (50 % of 8 MiB): nothing is lost, "
        "start again as before");
    EXPECT_THAT(refused(ErrorKind::Stopped, [] { LongWork("reading c", 5); }),
                HasSubstr("reading c"));
  }
  LongWork("reading d", kMebi).is_at(kMebi);  // nobody asks any more
}

TEST_F(Files, OfJsonAreReadOneWayOrRefusedWithTheirPlace) {
  const auto refusal = [&](const std::string& text) {
    const std::string file = made("a.json", text);
    return refused(ErrorKind::Data, [&] { (void)read_json_file(file, 1000, FileOwner::Run); });
  };
  EXPECT_EQ(read_json_file(made("good.json", R"({"a": 1})"), 1000, FileOwner::Run)["a"], 1);
  EXPECT_THAT(refusal(R"({"a": 1, "a": 2})"),
              HasSubstr(R"(a.json, byte 12: the key "a" is there twice)"));
  EXPECT_THAT(refusal("{\"a\":\n tru}"), HasSubstr("a.json, byte 11: bad JSON: parse error at "
                                                   "line 2, column 5"));
  EXPECT_THAT(refusal(R"({"a":[[[[[[[[[[1]]]]]]]]]]})"), HasSubstr("nested too deeply"));
  EXPECT_THAT(refusal("[1]"), HasSubstr("a.json, byte 1: not a JSON object"));
  EXPECT_EQ(parse_json(R"({"a": [1, 2]})", "a.json", 3)["a"].size(), 2U);
  EXPECT_THAT(
      refused(ErrorKind::Data, [] { (void)parse_json(R"({"a": [1, 2, {}]})", "a.json", 3); }),
      HasSubstr("a.json, byte 14: more values than such a file may have"));
  // A fuzzer's: the library tells all of the space that it has skipped, eight letters a tab.
  const std::string complaint = refusal("{\"a\":" + std::string(900, '\t') + "x}");
  EXPECT_THAT(complaint, HasSubstr("parse error at line 1, column 906"));
  EXPECT_THAT(complaint, HasSubstr(" ... "));
  EXPECT_LT(complaint.size(), 600U);
}

// The manifest of a checkpoint of ten thousand layers took half a minute to read: the parser, which
// asked a callback, went through all earlier objects behind each.
TEST(Json, OfManyObjectsIsReadInOneGo) {
  std::string text = "{";
  for (int i = 0; i < 60'000; ++i) {
    text += (i > 0 ? "," : "") + ("\"" + std::to_string(i) + R"(":{"bytes":1})");
  }
  const double start = processor_seconds();
  EXPECT_EQ(parse_json(text + "}", "a.json").size(), 60'000U);
  EXPECT_LT(processor_seconds() - start, 5);
}

TEST(Proc, TellsOfThisProcess) {
  const std::vector<std::string> fields = process_fields(getpid());
  ASSERT_GT(fields.size(), kProcessStart);
  EXPECT_EQ(fields[kProcessParent], std::to_string(getppid()));
  EXPECT_TRUE(process_fields(0).empty());
  EXPECT_TRUE(process_may_exist(getpid()));
  EXPECT_TRUE(process_may_exist(1)) << "whosever it is";
  EXPECT_FALSE(process_may_exist(0));
  EXPECT_FALSE(process_may_exist(int64_t{1} << 40));
  EXPECT_TRUE(system_text("/proc/none").empty());
}

}  // namespace
}  // namespace penstock

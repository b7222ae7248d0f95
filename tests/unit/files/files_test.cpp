// The room of files: whose a file is decides what an error is; a file that is written anew is never
// found half; JSON that two readers could read differently is refused, with its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "kernels/error.h"
#include "runtime/files/draft_file.h"
#include "runtime/files/input_file.h"
#include "runtime/files/json.h"
#include "runtime/files/proc.h"
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
    DraftFile draft(file);
    draft.write("half", 4);
    EXPECT_EQ(text_of(file), "before");
  }
  EXPECT_FALSE(fs::exists(file + ".new")) << "what was not committed is removed";
  EXPECT_EQ(text_of(file), "before");
  replace_file(file, "after");
  EXPECT_EQ(text_of(file), "after");
  EXPECT_THAT(refused(ErrorKind::Resource, [&] { replace_file(at("none/file"), "x"); }),
              HasSubstr("none/file.new: No such file"));
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
  EXPECT_TRUE(system_text("/proc/none").empty());
}

}  // namespace
}  // namespace penstock

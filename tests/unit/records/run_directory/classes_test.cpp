// classes.json: what comes back of it, and what is refused.
#include "runtime/records/run_directory/classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "kernels/error.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string classes_refusal(ErrorKind kind, const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  return "nothing was thrown";
}

TEST(ClassesFile, KeepsNamesInTheirOrder) {
  const TemporaryFolder folder;
  EXPECT_THAT(read_classes(folder.path()), IsEmpty());
  write_classes(folder.path(), {"10", "2", "caf\xC3\xA9", "with space"});
  EXPECT_THAT(read_classes(folder.path()), ElementsAre("10", "2", "caf\xC3\xA9", "with space"));
  // Names of files need not be UTF-8; they are the same names the next time.
  write_classes(folder.path(), {"a\xFFz", "b"});
  EXPECT_THAT(read_classes(folder.path()), ElementsAre("a\xEF\xBF\xBDz", "b"));
  EXPECT_NO_THROW(refuse_other_classes(folder.path(), {"a\xFFz", "b"}, "set"));
}

TEST(ClassesFile, RefusesOtherNamesOrAnotherNumber) {
  const TemporaryFolder folder;
  EXPECT_NO_THROW(refuse_other_classes(folder.path(), {"cat", "dog"}, "set"));
  write_classes(folder.path(), {"cat", "dog"});
  EXPECT_NO_THROW(refuse_other_classes(folder.path(), {"cat", "dog"}, "set"));
  const auto refused = [&](const std::vector<std::string>& classes) {
    return classes_refusal(ErrorKind::Input,
                           [&] { refuse_other_classes(folder.path(), classes, "set"); });
  };
  EXPECT_THAT(refused({"cat", "fox"}), HasSubstr("set has other classes than the run was trained "
                                                 "on: number 1 is \"fox\", and \"dog\" in "));
  EXPECT_THAT(refused({"cat"}), HasSubstr("number 1 is none, and \"dog\" in "));
  EXPECT_THAT(refused({"cat", "dog", "fox"}), HasSubstr("number 2 is \"fox\", and none in "));
}

TEST(ClassesFile, RefusesWhatItDidNotWrite) {
  const TemporaryFolder folder;
  for (const char* text : {"{}", R"({"classes": "cat"})", R"({"classes": [1]})", "[", ""}) {
    (void)folder.write("classes.json", text);
    EXPECT_THAT(classes_refusal(ErrorKind::Data, [&] { (void)read_classes(folder.path()); }),
                HasSubstr("classes.json"))
        << text;
  }
}

}  // namespace
}  // namespace penstock

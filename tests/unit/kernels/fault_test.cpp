// The errors that faults become.
#include "kernels/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Error thrown_by(Fault fault, const std::string& advice = "") {
  try {
    fail_by(fault, "it failed", advice);
  } catch (const Error& error) {
    return error;
  }
}

TEST(Faults, AreErrorsOfTheirKinds) {
  EXPECT_EQ(thrown_by(Fault::Memory).kind(), ErrorKind::Resource);
  EXPECT_EQ(thrown_by(Fault::Missing).kind(), ErrorKind::Resource);
  EXPECT_EQ(thrown_by(Fault::Bug).kind(), ErrorKind::Internal);
  EXPECT_EQ(thrown_by(Fault::Peer).kind(), ErrorKind::Peer);
}

TEST(Faults, OnlyMemorySaysThatItIsMemory) {
  EXPECT_THAT(thrown_by(Fault::Memory).what(),
              AllOf(StartsWith("out of memory: it failed: "), HasSubstr("--recompute stage")));
  for (const Fault fault : {Fault::Missing, Fault::Bug, Fault::Peer}) {
    const Error error = thrown_by(fault, "do that");
    EXPECT_THAT(error.what(),
                AllOf(StartsWith("it failed: "), EndsWith("do that"), Not(HasSubstr("memory"))));
  }
  EXPECT_THAT(thrown_by(Fault::Bug).what(), HasSubstr("please report this line"));
  EXPECT_STREQ(thrown_by(Fault::Missing).what(), "it failed");
}

}  // namespace
}  // namespace penstock

// The steps of a run whose length is given in passes over the training set.
#include "runtime/engine/training/epochs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.h"

namespace penstock {
namespace {

TEST(Epochs, EndWhenEverySampleWasUsedSoOften) {
  EXPECT_EQ(steps_of_epochs(1, 4, {.training_samples = 8}), 2);
  EXPECT_EQ(steps_of_epochs(3, 4, {.training_samples = 8}), 6);
  EXPECT_EQ(steps_of_epochs(3, 4, {.training_samples = 50}), 38) << "the last one is filled up";
  EXPECT_EQ(steps_of_epochs(1, 64, {.training_samples = 50}), 1);
}

TEST(Epochs, AreTheSameSamplesWhereARunGoesOn) {
  const Progress half{.step = 19, .consumed_samples = 76, .training_samples = 50};
  EXPECT_EQ(steps_of_epochs(3, 4, half), 38);
  EXPECT_EQ(steps_of_epochs(3, 8, half), 19 + 10) << "of 74 samples left";
  EXPECT_EQ(steps_of_epochs(1, 4, half), 19) << "nothing is left";
}

TEST(Epochs, TooManyAreRefused) {
  try {
    (void)steps_of_epochs(int64_t{1} << 29, 1, {.training_samples = int64_t{1} << 40});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    EXPECT_THAT(error.what(), testing::HasSubstr("run.epochs = 536870912"));
  }
}

}  // namespace
}  // namespace penstock

// tests/distributed/mpi_wait_test.cpp -- what happens while a rank waits: sums go on, and a wait
// for what never comes ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "kernels/error.h"
#include "runtime/system/comm/mpi/mpi_collective.h"
#include "runtime/system/comm/mpi/mpi_link.h"
#include "runtime/system/comm/mpi/mpi_reduce.h"
#include "tests/distributed/main.h"
#include "tests/distributed/transports.h"
#include "tests/support/host_device.h"

namespace penstock {
namespace {

using testing::HasSubstr;

constexpr std::chrono::milliseconds kShort{300};
constexpr std::chrono::milliseconds kForEver{0};  // what does come may take a slow machine any time
const TensorSpec kSpec{{1000}, DType::F32};
// Several slices in every lane, so that a sum needs each member again and again.
constexpr int64_t kSummed = int64_t{6} << 20;

// Two ranks joined by a link from 1 to 0, and by a group.
class MpiWaits : public testing::Test {
 protected:
  void SetUp() override {
    if (session_.ranks() != 2) GTEST_SKIP() << needs_ranks("2");
    ASSERT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, comm_.address()), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_set_errhandler(comm_.get(), MPI_ERRORS_RETURN), MPI_SUCCESS);
  }
  void TearDown() override { (void)MPI_Barrier(MPI_COMM_WORLD); }

  [[nodiscard]] CommHandle duplicate() const {
    CommHandle copy;
    EXPECT_EQ(MPI_Comm_dup(comm_.get(), copy.address()), MPI_SUCCESS);
    return copy;
  }
  Tensor message() {
    return tensor_of(device_, std::vector<float>(1000, 7.0F), {1000}, DType::F32);
  }
  [[nodiscard]] bool is_message(const Tensor& tensor) {
    return values_of<float>(device_, tensor) == std::vector<float>(1000, 7.0F);
  }
  Tensor addend() {
    const auto value = static_cast<float>(rank_ + 1);
    return tensor_of(device_, std::vector<float>(static_cast<size_t>(kSummed), value), {kSummed},
                     DType::F32);
  }
  [[nodiscard]] bool is_sum(const Tensor& tensor) {
    return values_of<float>(device_, tensor) ==
           std::vector<float>(static_cast<size_t>(kSummed), 3.0F);
  }
  [[nodiscard]] MpiEdge edge() const { return {comm_.get(), 1 - rank_, 5, "the test's message"}; }

  const Session& session_ = test_session();
  const int rank_ = session_.rank();
  HostDevice device_;
  CommHandle comm_;
  int64_t made_ = 0;
};

// Rank 1 sends only when the sum is there, for which rank 0 has to add its share while it waits.
TEST_F(MpiWaits, ASumIsCompletedWhileALinkWaits) {
  Pollers pollers;
  MpiReduceGroup group(duplicate(), "the test", device_.memory(), pollers);
  const Tensor sum = addend();
  if (rank_ == 0) {
    MpiReceiveLink link(edge(), device_.memory(), Purpose::Activations, pollers, made_);
    link.expect({&kSpec, 1});
    group.start(sum);
    Tensor arrived;
    link.receive({&arrived, 1});
    EXPECT_TRUE(is_message(arrived));
    group.finish();
  } else {
    MpiSendLink link(edge(), device_.memory(), pollers, made_);
    group.start(sum);
    group.finish();
    const Tensor tensor = message();
    link.send({&tensor, 1});
    link.drain();
  }
  EXPECT_TRUE(is_sum(sum));
}

TEST_F(MpiWaits, ASumIsCompletedWhileNumbersAreGathered) {
  Pollers pollers;
  MpiReduceGroup group(duplicate(), "the test", device_.memory(), pollers);
  MpiCollective collective(duplicate(), "the test's numbers", pollers);
  const Tensor sum = addend();
  group.start(sum);
  if (rank_ == 1) group.finish();
  double number = rank_ + 1.0;
  collective.sum({&number, 1});
  EXPECT_EQ(number, 3.0);
  group.finish();
  EXPECT_TRUE(is_sum(sum));
}

// Runs `wait` on rank 0 while rank 1 does nothing; returns the message of its Error(Peer).
template <class Wait>
std::string wait_refusal(int rank, Wait wait) {
  std::string words = "nothing was thrown";
  if (rank == 0) {
    try {
      wait();
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), 4);
      words = error.what();
    }
  }
  (void)MPI_Barrier(MPI_COMM_WORLD);
  return words;
}

TEST_F(MpiWaits, AMessageThatDoesNotComeIsAnErrorThatNamesItsEdge) {
  Pollers pollers(rank_ == 0 ? kShort : kForEver);
  if (rank_ == 0) {
    MpiReceiveLink link(edge(), device_.memory(), Purpose::Activations, pollers, made_);
    link.expect({&kSpec, 1});
    Tensor arrived;
    const std::string words = wait_refusal(rank_, [&] { link.receive({&arrived, 1}); });
    EXPECT_THAT(words, HasSubstr("receiving the test's message: nothing has come within 300 ms"));
    pollers.set_limit(kForEver);
    link.receive({&arrived, 1});  // it is only late
    EXPECT_TRUE(is_message(arrived));
  } else {
    MpiSendLink link(edge(), device_.memory(), pollers, made_);
    (void)wait_refusal(rank_, [] {});
    const Tensor tensor = message();
    link.send({&tensor, 1});
    link.drain();
  }
}

TEST_F(MpiWaits, ASumThatNobodyJoinsIsAnErrorThatNamesItsGroup) {
  Pollers pollers(rank_ == 0 ? kShort : kForEver);
  MpiReduceGroup group(duplicate(), "the test", device_.memory(), pollers);
  const Tensor sum = addend();
  if (rank_ == 0) group.start(sum);
  const std::string words = wait_refusal(rank_, [&] { group.finish(); });
  if (rank_ == 0) {
    EXPECT_THAT(words, HasSubstr("summing gradients over the test: nothing has come within"));
  } else {
    group.start(sum);
  }
  pollers.set_limit(kForEver);
  group.finish();
  EXPECT_TRUE(is_sum(sum));
}

TEST_F(MpiWaits, NumbersThatNobodyGivesAreAnError) {
  Pollers pollers(rank_ == 0 ? kShort : kForEver);
  MpiCollective collective(duplicate(), "the test's numbers", pollers);
  double number = 1.0;
  const std::string words = wait_refusal(rank_, [&] { collective.sum({&number, 1}); });
  if (rank_ == 0) {
    EXPECT_THAT(words, HasSubstr("the test's numbers: nothing has come within 300 ms"));
  } else {
    collective.sum({&number, 1});  // rank 0's part of it is under way
  }
}

// What is agreed before, between and after steps waits likewise.
TEST_F(MpiWaits, TextsAndMeetingsThatNobodyComesToAreErrors) {
  Pollers pollers(rank_ == 0 ? kShort / 3 : kForEver);
  MpiCollective collective(duplicate(), "the test's texts", pollers);
  const auto nothing_comes = HasSubstr("the test's texts: nothing has come within 100 ms");
  const std::string met = wait_refusal(rank_, [&] { collective.barrier(); });
  if (rank_ == 0) {
    EXPECT_THAT(met, nothing_comes);
  } else {
    collective.barrier();
  }
  const std::string gathered = wait_refusal(rank_, [&] { (void)collective.gather_text("a"); });
  if (rank_ == 0) {
    EXPECT_THAT(gathered, nothing_comes);
  }
}

}  // namespace
}  // namespace penstock

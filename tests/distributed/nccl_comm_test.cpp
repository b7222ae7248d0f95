// tests/distributed/nccl_comm_test.cpp -- a communicator of NCCL whose members fail.
#include "runtime/system/comm/cuda/nccl_comm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/error.h"
#include "runtime/system/comm/handle.h"
#include "tests/distributed/main.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::chrono::milliseconds kShort{300};

class NcclComms : public testing::Test {
 protected:
  void SetUp() override {
    if (session_.ranks() < 2) GTEST_SKIP() << needs_ranks("2 or more");
    PENSTOCK_CUDA(cudaSetDevice(session_.local_rank()));
    ASSERT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, members_.address()), MPI_SUCCESS);
  }
  void TearDown() override { (void)MPI_Barrier(MPI_COMM_WORLD); }

  // The message of the Error of that kind that `function` throws.
  template <class Function>
  static std::string refusal(Function function, ErrorKind kind = ErrorKind::Peer) {
    try {
      function();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return "";
  }

  const Session& session_ = test_session();
  CommHandle members_;
};

TEST_F(NcclComms, AMemberThatNeverComesIsNamedInAnErrorAndNotWaitedFor) {
  if (session_.rank() + 1 == session_.ranks()) {  // takes the id and goes
    ncclUniqueId id;
    RequestHandle request;  // blocking and other collectives do not meet
    ASSERT_EQ(MPI_Ibcast(&id, sizeof(id), MPI_BYTE, 0, members_.get(), request.address()),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(request.address(), MPI_STATUS_IGNORE), MPI_SUCCESS);
    return;
  }
  const std::string words =
      refusal([&] { const NcclComm comm(members_.get(), "the test", 0, kShort); });
  EXPECT_THAT(words, StartsWith("the test: ncclCommInitRankConfig: "));
  EXPECT_THAT(words, HasSubstr("no answer from the other members within"));
  EXPECT_THAT(words, HasSubstr("--link mpi-staged"));
}

TEST_F(NcclComms, TwoMembersOnOneDeviceAreRefusedInNcclsWords) {
  PENSTOCK_CUDA(cudaSetDevice(0));
  const std::string words = refusal(
      [&] { const NcclComm comm(members_.get(), "the test", 0, kShort); }, ErrorKind::Internal);
  EXPECT_THAT(words, HasSubstr("invalid usage"));
  EXPECT_THAT(words, HasSubstr("Duplicate GPU"));
}

TEST_F(NcclComms, AMessageThatNobodySendsIsNotWaitedForWithoutEnd) {
  NcclComm comm(members_.get(), "the test", 0, kShort);
  if (comm.rank() == 0) {
    const Stream stream;
    void* data = nullptr;
    PENSTOCK_CUDA(cudaMalloc(&data, 64));
    comm.group([&](ncclComm_t raw) {
      PENSTOCK_NCCL(comm, ncclRecv(data, 64, ncclUint8, 1, raw, stream.get()));
    });
    EXPECT_THAT(refusal([&] { comm.settle(stream); }), HasSubstr("has not arrived within"));
    PENSTOCK_CUDA(cudaFree(data));
  }
}

TEST_F(NcclComms, AMistakeInACallIsAnErrorThatNamesTheCall) {
  NcclComm comm(members_.get(), "the test", 0, kShort);
  const Stream stream;
  const std::string words = refusal(
      [&] {
        comm.group([&](ncclComm_t raw) {
          PENSTOCK_NCCL(comm, ncclSend(nullptr, 64, ncclUint8, 99, raw, stream.get()));
        });
      },
      ErrorKind::Internal);
  EXPECT_THAT(words, StartsWith("the test: ncclSend: invalid argument"));
}

}  // namespace
}  // namespace penstock

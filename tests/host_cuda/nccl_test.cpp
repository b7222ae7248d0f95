// tests/host_cuda/nccl_test.cpp -- the emulated NCCL between processes.
#include <gtest/gtest.h>
#include <nccl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "tests/host_cuda/cuda_buffer.h"

namespace penstock::host_cuda {
namespace {

// Runs `member` in a process for each rank; true when all of them said so.
bool all_agree(int size, const std::function<bool(int rank, ncclUniqueId id)>& member) {
  ncclUniqueId id{};
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<pid_t> processes;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t process = fork();
    if (process == 0) _exit(member(rank, id) ? 0 : 1);
    processes.push_back(process);
  }
  bool all = true;
  for (const pid_t process : processes) {
    int status = 0;
    waitpid(process, &status, 0);
    all = all && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return all;
}

ncclResult_t settled(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
    std::this_thread::yield();
  }
  return state;
}

// A communicator that does not block, of members with a device each.
ncclComm_t joined(int size, int rank, const ncclUniqueId& id, bool own_device = true) {
  setenv("PENSTOCK_HOST_CUDA_DEVICES", "8", 1);
  PENSTOCK_CUDA(cudaSetDevice(own_device ? rank : 0));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, size, id, rank, &config), ncclInProgress);
  return comm;
}

bool group(ncclComm_t comm, const std::function<void()>& calls) {
  (void)ncclGroupStart();
  calls();
  const ncclResult_t status = ncclGroupEnd();
  return (status == ncclInProgress ? settled(comm) : status) == ncclSuccess;
}

std::vector<float> of_rank(int rank, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(rank + 1) * static_cast<float>(i);
  return values;
}

constexpr size_t kCount = 40000;  // more than a ring holds

TEST(HostNccl, SumsOverThreeMembers) {
  EXPECT_TRUE(all_agree(3, [](int rank, ncclUniqueId id) {
    ncclComm_t comm = joined(3, rank, id);
    bool right = settled(comm) == ncclSuccess;
    const Stream stream;
    const Buffer<float> data(of_rank(rank, kCount));
    for (int again = 0; again < 2; ++again) {
      right = group(comm,
                    [&] {
                      (void)ncclAllReduce(data.get(), data.get(), kCount, ncclFloat32, ncclSum,
                                          comm, stream.get());
                    }) &&
              right;
    }
    right = data.values() == of_rank(17, kCount) && right;  // 3 * (1 + 2 + 3)
    return ncclCommDestroy(comm) == ncclSuccess && right;
  }));
}

TEST(HostNccl, GathersAndBroadcasts) {
  EXPECT_TRUE(all_agree(2, [](int rank, ncclUniqueId id) {
    ncclComm_t comm = joined(2, rank, id);
    bool right = settled(comm) == ncclSuccess;
    const Stream stream;
    const Buffer<float> own(of_rank(rank, 3)), all(6);
    right = group(comm,
                  [&] {
                    (void)ncclAllGather(own.get(), all.get(), 3, ncclFloat32, comm, stream.get());
                  }) &&
            right;
    right =
        group(comm,
              [&] {
                (void)ncclBroadcast(own.get(), own.get(), 3, ncclFloat32, 1, comm, stream.get());
              }) &&
        right;
    right = all.values() == std::vector<float>{0, 1, 2, 0, 2, 4} && right;
    right = own.values() == of_rank(1, 3) && right;
    return ncclCommDestroy(comm) == ncclSuccess && right;
  }));
}

TEST(HostNccl, MembersExchangeMessagesWithinOneGroup) {
  EXPECT_TRUE(all_agree(2, [](int rank, ncclUniqueId id) {
    ncclComm_t comm = joined(2, rank, id);
    bool right = settled(comm) == ncclSuccess;
    const Stream stream;
    const Buffer<float> own(of_rank(rank, kCount)), other(kCount);
    right = group(comm,
                  [&] {
                    (void)ncclSend(own.get(), kCount, ncclFloat32, 1 - rank, comm, stream.get());
                    (void)ncclRecv(other.get(), kCount, ncclFloat32, 1 - rank, comm, stream.get());
                  }) &&
            right;
    right = other.values() == of_rank(1 - rank, kCount) && right;
    return ncclCommDestroy(comm) == ncclSuccess && right;
  }));
}

TEST(HostNccl, TwoMembersOnOneDeviceAreRefused) {
  EXPECT_TRUE(all_agree(2, [](int rank, ncclUniqueId id) {
    ncclComm_t comm = joined(2, rank, id, false);
    const bool refused = settled(comm) == ncclInvalidUsage;
    const std::string words = ncclGetLastError(comm);
    return ncclCommAbort(comm) == ncclSuccess && refused &&
           words == "Duplicate GPU detected : rank 0 and rank 1";
  }));
}

TEST(HostNccl, AbortEndsWhatWaitsInStreams) {
  EXPECT_TRUE(all_agree(2, [](int rank, ncclUniqueId id) {
    ncclComm_t comm = joined(2, rank, id);
    bool right = settled(comm) == ncclSuccess;
    if (rank == 1) return ncclCommAbort(comm) == ncclSuccess && right;
    const Stream stream;
    const Buffer<float> never(4);
    right =
        group(comm, [&] { (void)ncclRecv(never.get(), 4, ncclFloat32, 1, comm, stream.get()); }) &&
        right;
    for (int asked = 0; asked < 10; ++asked)
      right = cudaStreamQuery(stream.get()) == cudaErrorNotReady && right;
    right = ncclCommAbort(comm) == ncclSuccess && right;
    PENSTOCK_CUDA(cudaStreamSynchronize(stream.get()));
    return right;
  }));
}

// A communicator with that many blocks a launch; null where that is refused at once.
ncclComm_t joined_with(int size, int rank, const ncclUniqueId& id, int blocks) {
  setenv("PENSTOCK_HOST_CUDA_DEVICES", "8", 1);
  PENSTOCK_CUDA(cudaSetDevice(rank));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.minCTAs = 1;
  config.maxCTAs = blocks;
  ncclComm_t comm = nullptr;
  return ncclCommInitRankConfig(&comm, size, id, rank, &config) == ncclInProgress ? comm : nullptr;
}

TEST(HostNccl, MembersThatAskForDifferentBlocksAreRefused) {
  EXPECT_TRUE(all_agree(2, [](int rank, ncclUniqueId id) {
    ncclComm_t comm = joined_with(2, rank, id, 4 << rank);
    const bool refused = settled(comm) == ncclInvalidUsage;
    return ncclCommAbort(comm) == ncclSuccess && refused;
  }));
  EXPECT_TRUE(all_agree(1, [](int rank, ncclUniqueId id) {
    return joined_with(1, rank, id, 0) == nullptr && joined_with(1, rank, id, 65) == nullptr;
  }));
}

// Kernels that wait for ever on the whole chip.
TEST(HostNccl, WaitingKernelsThatFillTheDeviceStopTheProgram) {
  for (const int blocks : {16, 64}) {
    const bool all_fit = all_agree(1, [&](int rank, ncclUniqueId id) {
      setenv("PENSTOCK_HOST_NCCL", "silent:0", 1);
      const Buffer<float> data(4);
      std::vector<Stream> streams(3);
      for (const Stream& stream : streams) {
        (void)ncclGetUniqueId(&id);
        ncclComm_t comm = joined_with(1, rank, id, blocks);
        (void)settled(comm);
        (void)group(comm, [&] {
          (void)ncclAllReduce(data.get(), data.get(), 4, ncclFloat32, ncclSum, comm, stream.get());
        });
      }
      for (int asked = 0; asked < 50; ++asked) (void)cudaStreamQuery(streams[0].get());
      _exit(0);  // before the streams are waited for
      return true;
    });
    EXPECT_EQ(all_fit, blocks == 16) << blocks;
  }
}

TEST(HostNccl, ASilentMemberIsNoErrorOfTheOthers) {
  EXPECT_TRUE(all_agree(2, [](int rank, ncclUniqueId id) {
    if (rank == 1) setenv("PENSTOCK_HOST_NCCL", "silent:0", 1);
    ncclComm_t comm = joined(2, rank, id);
    bool right = settled(comm) == ncclSuccess;
    const Stream stream;
    const Buffer<float> data(of_rank(rank, 4));
    right = group(comm,
                  [&] {
                    (void)ncclAllReduce(data.get(), data.get(), 4, ncclFloat32, ncclSum, comm,
                                        stream.get());
                  }) &&
            right;
    for (int asked = 0; asked < 50; ++asked) {
      right = cudaStreamQuery(stream.get()) == cudaErrorNotReady && right;
      right = settled(comm) == ncclSuccess && right;
    }
    return ncclCommAbort(comm) == ncclSuccess && right;
  }));
}

TEST(HostNccl, AMemberThatIsGoneIsAnErrorToWhoeverAsks) {
  EXPECT_TRUE(all_agree(1, [](int rank, ncclUniqueId id) {
    setenv("PENSTOCK_HOST_NCCL", "error:1", 1);
    ncclComm_t comm = joined(1, rank, id);
    bool right = settled(comm) == ncclSuccess;
    const Stream stream;
    const Buffer<float> data(4);
    const auto sum = [&] {
      (void)ncclAllReduce(data.get(), data.get(), 4, ncclFloat32, ncclSum, comm, stream.get());
    };
    right = group(comm, sum) && settled(comm) == ncclSuccess && right;
    (void)group(comm, sum);
    right = settled(comm) == ncclRemoteError && right;
    return ncclCommAbort(comm) == ncclSuccess && right;
  }));
}

}  // namespace
}  // namespace penstock::host_cuda

// tests/host_cuda/nccl.cpp -- the part of NCCL that Penstock calls, between processes of this host.
// What a launch does is a task of its stream that ends when the other members have come; calls on a
// communicator that does not block sometimes take a while, and their work is in the stream only
// when the communicator says so.
#include <nccl.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "tests/host_cuda/chance.h"
#include "tests/host_cuda/exchange.h"
#include "tests/host_cuda/machine.h"
#include "tests/host_cuda/memory.h"
#include "tests/host_cuda/nccl_trouble.h"
#include "tests/host_cuda/reduction.h"

namespace penstock::host_cuda {
namespace {

// Outlives the handle for tasks that are still in a stream.
struct Member {
  std::unique_ptr<Wire> wire;
  int device = 0;
  int blocks = 0;  // of a launch
  bool aborted = false;
  bool silent = false;               // nothing leaves or comes any more
  uint64_t launched = 0, ended = 0;  // launches follow one another
};

struct Launch {
  std::shared_ptr<Exchange> exchange;
  cudaStream_t stream = nullptr;
};

}  // namespace
}  // namespace penstock::host_cuda

struct ncclComm {
  int size = 0, rank = 0;
  bool blocking = true;
  ncclResult_t state = ncclInProgress;
  std::string words;  // of the last error
  std::shared_ptr<penstock::host_cuda::Member> member;
  std::vector<penstock::host_cuda::Launch> delayed;  // by a group that is in progress
  uint32_t delay = 0;                                // times to be asked before
  bool joining = true;
};

namespace penstock::host_cuda {
namespace {

ncclResult_t failed(ncclComm_t comm, ncclResult_t status, const std::string& words) {
  comm->state = status;
  comm->words = words;
  return status;
}

// A GPU works while the host waits for something else: for a message of MPI, say.
void work_in_the_background() {
  static const std::jthread worker([](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      const std::unique_lock lock(machine_lock(), std::try_to_lock);
      if (lock.owns_lock()) run_some();
    }
  });
}

cudaError_t put_into_stream(const std::shared_ptr<Member>& member, const Launch& launch) {
  const Operation operation = [member, exchange = launch.exchange]() -> Task {
    const uint64_t turn = member->launched++;
    auto run = std::make_shared<ExchangeRun>(*exchange, *member->wire);
    return [member, exchange, run, turn, begun = false]() mutable {
      if (member->ended == turn && !std::exchange(begun, true)) {
        hold_processors(member->device, member->blocks);
      }
      const bool moves = member->ended == turn && !member->silent;
      if (!member->aborted && (!moves || !run->progress())) return false;
      if (begun) free_processors(member->device, member->blocks);
      ++member->ended;
      return true;
    };
  };
  return submit(launch.stream, operation);
}

void issue_delayed(ncclComm_t comm) {
  for (const Launch& launch : comm->delayed) {
    if (put_into_stream(comm->member, launch) != cudaSuccess) {
      (void)failed(comm, ncclUnhandledCudaError, "a launch was refused by the stream");
    }
  }
  comm->delayed.clear();
}

void join(ncclComm_t comm) {
  if (!comm->member->wire->complete()) return;
  comm->joining = false;
  const std::string twice = comm->member->wire->same_device();
  if (!twice.empty()) {
    (void)failed(comm, ncclInvalidUsage, "Duplicate GPU detected : " + twice);
    return;
  }
  if (!comm->member->wire->same_blocks()) {
    (void)failed(comm, ncclInvalidUsage, "members ask for different numbers of CTAs");
    return;
  }
  comm->state = ncclSuccess;
}

// What a call that takes a while does next.
void advance(ncclComm_t comm) {
  run_some();
  if (comm->state != ncclInProgress) return;
  if (comm->joining) return join(comm);
  if (comm->delay > 0 && --comm->delay > 0) return;
  comm->state = ncclSuccess;
  issue_delayed(comm);
}

// Lets others come in between.
void wait(ncclComm_t comm) {
  while (comm->state == ncclInProgress) {
    advance(comm);
    machine_lock().unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    machine_lock().lock();
  }
}

// Groups of this thread ---------------------------------------------------------------------------

thread_local int group_depth = 0;
thread_local std::map<ncclComm_t, Launch> gathered;

// Returns what ncclGroupEnd returns for this communicator.
ncclResult_t launch(ncclComm_t comm, const Launch& made) {
  comm->delayed.push_back(made);
  const NcclTrouble trouble = trouble_of_next_launch();
  if (trouble != NcclTrouble::None) comm->member->silent = true;
  if (trouble == NcclTrouble::Error) {
    issue_delayed(comm);
    (void)failed(comm, ncclRemoteError, "connection closed by the other member");
    return ncclSuccess;  // it is found out later
  }
  const bool takes_a_while = !comm->blocking && chance(2) == 0;
  if (takes_a_while) {
    comm->delay = 1 + chance(3);
    comm->state = ncclInProgress;
    return ncclInProgress;
  }
  issue_delayed(comm);
  return comm->state;
}

ncclResult_t end_group() {
  ncclResult_t worst = ncclSuccess;
  for (const auto& [comm, made] : gathered) worst = std::max(worst, launch(comm, made));
  gathered.clear();
  return worst;
}

bool is_set(int option) {
  return option != NCCL_CONFIG_UNDEF_INT;
}

// Blocks of each launch.
int blocks_of(const ncclConfig_t* config) {
  constexpr int kUsual = 32;
  return config == nullptr || !is_set(config->maxCTAs) ? kUsual : config->maxCTAs;
}

bool makes_sense(const ncclConfig_t* config) {
  if (config == nullptr) return true;
  const auto possible = [](int blocks) { return !is_set(blocks) || (blocks > 0 && blocks <= 64); };
  if (!possible(config->minCTAs) || !possible(config->maxCTAs)) return false;
  return !is_set(config->minCTAs) || config->minCTAs <= blocks_of(config);
}

bool usable(const void* data, size_t size_bytes) {
  return holds(Place::Device, data, size_bytes) || holds(Place::Pinned, data, size_bytes);
}

// Adds a call to the group; `fill` puts its messages into the exchange.
template <class Fill>
ncclResult_t add(ncclComm_t comm, cudaStream_t stream, const Fill& fill) {
  PENSTOCK_HOST_CUDA_LOCK;
  if (comm->state != ncclSuccess && comm->state != ncclInProgress) return comm->state;
  if (comm->state != ncclSuccess) {
    return failed(comm, ncclInvalidUsage, "a call on a communicator that is not ready");
  }
  Launch& launch = gathered[comm];
  if (launch.exchange == nullptr) launch = {std::make_shared<Exchange>(), stream};
  if (launch.stream != stream) {
    return failed(comm, ncclInvalidUsage, "a group with two streams: not emulated");
  }
  const ncclResult_t status = fill(*launch.exchange);
  if (status != ncclSuccess) return failed(comm, status, "a buffer or a type is not right");
  return group_depth == 0 ? end_group() : ncclSuccess;
}

std::byte* bytes(const void* data) {
  return static_cast<std::byte*>(const_cast<void*>(data));
}

// The copies of all members side by side in one piece of memory; this one's is filled in by `last`.
std::shared_ptr<std::vector<std::byte>> gather_copies(ncclComm_t comm, Exchange& exchange,
                                                      const void* own, size_t size_bytes) {
  auto copies =
      std::make_shared<std::vector<std::byte>>(size_bytes * static_cast<size_t>(comm->size));
  auto sent = std::make_shared<std::vector<std::byte>>(size_bytes);
  exchange.first.emplace_back(
      [own, sent, size_bytes] { std::memcpy(sent->data(), own, size_bytes); });
  for (int peer = 0; peer < comm->size; ++peer) {
    exchange.sends.push_back({peer, sent->data(), size_bytes});
    exchange.receives.push_back(
        {peer, copies->data() + static_cast<size_t>(peer) * size_bytes, size_bytes});
  }
  return copies;
}

}  // namespace
}  // namespace penstock::host_cuda

using namespace penstock::host_cuda;  // NOLINT(google-build-using-namespace): the API is below

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  const WireName name = new_wire();
  std::memcpy(id->internal, &name, sizeof(name));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  PENSTOCK_HOST_CUDA_LOCK;
  *comm = nullptr;
  if (size < 1 || size > Wire::kMostMembers || rank < 0 || rank >= size || group_depth > 0 ||
      !makes_sense(config)) {
    return ncclInvalidArgument;
  }
  work_in_the_background();
  WireName name;
  std::memcpy(&name, id.internal, sizeof(name));
  auto* made = new ncclComm;
  made->size = size;
  made->rank = rank;
  made->blocking = config == nullptr || config->blocking != 0;
  made->member = std::make_shared<Member>();
  made->member->device = current_device();
  made->member->blocks = blocks_of(config);
  made->member->wire =
      std::make_unique<Wire>(name, size, rank, made->member->device, made->member->blocks);
  *comm = made;
  if (!made->blocking) return ncclInProgress;
  wait(made);
  return made->state;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  return ncclCommInitRankConfig(comm, size, id, rank, nullptr);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  PENSTOCK_HOST_CUDA_LOCK;
  advance(comm);
  *state = comm->state;
  return ncclSuccess;
}

// Everything that was launched ends first.
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  PENSTOCK_HOST_CUDA_LOCK;
  const Member& member = *comm->member;
  if (comm->state == ncclSuccess) run_until([&] { return member.ended == member.launched; });
  return comm->state;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  PENSTOCK_HOST_CUDA_LOCK;
  const ncclResult_t status = ncclCommFinalize(comm);
  delete comm;
  return status;
}

// What is in streams ends without its data.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  PENSTOCK_HOST_CUDA_LOCK;
  comm->member->aborted = true;
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
  *count = comm->size;
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  *rank = comm->rank;
  return ncclSuccess;
}

const char* ncclGetLastError(ncclComm_t comm) {
  return comm == nullptr ? "" : comm->words.c_str();
}

const char* ncclGetErrorString(ncclResult_t status) {
  switch (status) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    default:
      return "internal error";
  }
}

ncclResult_t ncclGroupStart() {
  ++group_depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  PENSTOCK_HOST_CUDA_LOCK;
  if (group_depth == 0) return ncclInvalidUsage;
  return --group_depth == 0 ? end_group() : ncclSuccess;
}

ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return add(comm, stream, [&](Exchange& exchange) {
    const size_t size_bytes = count * size_of(type);
    if (peer < 0 || peer >= comm->size || !usable(data, size_bytes)) return ncclInvalidArgument;
    exchange.sends.push_back({peer, bytes(data), size_bytes});
    return ncclSuccess;
  });
}

ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add(comm, stream, [&](Exchange& exchange) {
    const size_t size_bytes = count * size_of(type);
    if (peer < 0 || peer >= comm->size || !usable(data, size_bytes)) return ncclInvalidArgument;
    exchange.receives.push_back({peer, bytes(data), size_bytes});
    return ncclSuccess;
  });
}

ncclResult_t ncclAllGather(const void* own, void* all, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return add(comm, stream, [&](Exchange& exchange) {
    const size_t size_bytes = count * size_of(type);
    const size_t all_bytes = size_bytes * static_cast<size_t>(comm->size);
    if (!usable(own, size_bytes) || !usable(all, all_bytes)) return ncclInvalidArgument;
    const auto copies = gather_copies(comm, exchange, own, size_bytes);
    exchange.last.emplace_back(
        [copies, all, all_bytes] { std::memcpy(all, copies->data(), all_bytes); });
    return ncclSuccess;
  });
}

ncclResult_t ncclAllReduce(const void* own, void* sum, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return add(comm, stream, [&](Exchange& exchange) {
    const size_t size_bytes = count * size_of(type);
    const bool possible =
        can_reduce(type, op) && usable(own, size_bytes) && usable(sum, size_bytes);
    if (!possible) return ncclInvalidArgument;
    const auto copies = gather_copies(comm, exchange, own, size_bytes);
    exchange.last.emplace_back(
        [=, members = comm->size] { reduce(sum, copies->data(), count, members, type, op); });
    return ncclSuccess;
  });
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return add(comm, stream, [&](Exchange& exchange) {
    const size_t size_bytes = count * size_of(type);
    const bool sends = comm->rank == root;
    if (!usable(to, size_bytes) || (sends && !usable(from, size_bytes))) return ncclInvalidArgument;
    for (int peer = 0; sends && peer < comm->size; ++peer) {
      if (peer != root) exchange.sends.push_back({peer, bytes(from), size_bytes});
    }
    if (sends && from != to) {
      exchange.last.emplace_back([=] { std::memcpy(to, from, size_bytes); });
    }
    if (!sends) exchange.receives.push_back({root, bytes(to), size_bytes});
    return ncclSuccess;
  });
}

}  // extern "C"

// runtime/system/comm/cuda/nccl_comm.h -- NcclComm: one NCCL communicator. Every status is checked
// and every wait has a time limit.
//
// It is non-blocking: a call that needs the other members returns at once and is polled until it
// has ended, so that a member that never comes becomes an error here instead of a hang. A
// communicator that has failed is aborted, which also ends its kernels.
#pragma once

#include <mpi.h>
#include <nccl.h>

#include <chrono>
#include <functional>
#include <string>

#include "kernels/cuda/queue/stream.h"
#include "kernels/fault.h"

namespace penstock {

class NcclComm {
 public:
  static constexpr std::chrono::seconds kPatience{120};  // for large jobs that start slowly

  // Collective over `members`, whose rank 0 makes the id and broadcasts it; ranks keep their
  // numbers. `context` says in errors what the communicator is for. At most `blocks` of the GPU's
  // multiprocessors work for it at a time (0: what NCCL thinks best). Throws Error(Peer), or what
  // nccl_fault.h makes of NCCL's status.
  NcclComm(MPI_Comm members, std::string context, int blocks,
           std::chrono::milliseconds patience = kPatience);
  // Leaves the communicator: waits at most 10 s for the other members to do so, then aborts it; at
  // once while an exception unwinds.
  ~NcclComm();
  NcclComm(const NcclComm&) = delete;
  NcclComm& operator=(const NcclComm&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  // Runs `calls` as one group and returns when their kernels are in their streams. Each call goes
  // through PENSTOCK_NCCL; the first that fails is what is thrown, once the group has been closed.
  void group(const std::function<void(ncclComm_t)>& calls);
  // Called by PENSTOCK_NCCL within group(): keeps the first status that is a failure.
  void note(const char* call, ncclResult_t status);
  // Throws when the communicator has failed (the Error that nccl_fault.h makes of its status), and
  // Error(Peer) when it has been abandoned.
  void look();
  // Ends what is under way without its data, at once and on this rank only; nothing more can be
  // done with the communicator.
  void abandon() noexcept { abort(); }
  // Waits on the host until the stream has ended. Throws as look() does, and Error(Peer) when that
  // takes longer than `patience`.
  void settle(const Stream& stream);

 private:
  void initialise(MPI_Comm members, int blocks);
  void share(ncclUniqueId& id, MPI_Comm members);  // rank 0's
  void check(const char* call, ncclResult_t status);
  void wait_while_in_progress(const char* call);
  [[noreturn]] void fail(const char* call, ncclResult_t status);
  // Throws: the fault is another member's, unless told otherwise.
  [[noreturn]] void fail(const char* call, const std::string& words, Fault fault = Fault::Peer);
  [[nodiscard]] std::string last_words() const;  // NCCL's own, or none
  void abort() noexcept;
  void leave() noexcept;

  std::string context_;
  std::chrono::milliseconds patience_;
  int rank_ = 0, size_ = 1;
  ncclComm_t comm_ = nullptr;
  const char* failed_call_ = nullptr;  // of the group that is open
  ncclResult_t failed_status_ = ncclSuccess;
};

}  // namespace penstock

// A call of NCCL inside NcclComm::group().
#define PENSTOCK_NCCL(comm, call) (comm).note(#call, call)

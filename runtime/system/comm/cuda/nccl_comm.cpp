#include "runtime/system/comm/cuda/nccl_comm.h"

#include <exception>
#include <thread>
#include <utility>

#include "runtime/system/comm/cuda/nccl_fault.h"
#include "runtime/system/comm/handle.h"
#include "runtime/system/comm/mpi/mpi_check.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kCure = "; NCCL_DEBUG=WARN shows more, and --link mpi-staged needs no NCCL";
constexpr std::chrono::seconds kFarewell{10};

std::string seconds_text(std::chrono::milliseconds time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

}  // namespace

NcclComm::NcclComm(MPI_Comm members, std::string context, int blocks,
                   std::chrono::milliseconds patience)
    : context_(std::move(context)), patience_(patience) {
  PENSTOCK_MPI(MPI_Comm_rank(members, &rank_), context_);
  PENSTOCK_MPI(MPI_Comm_size(members, &size_), context_);
  try {
    initialise(members, blocks);
  } catch (...) {
    abort();  // the destructor does not run after this throws
    throw;
  }
}

NcclComm::~NcclComm() {
  if (std::uncaught_exceptions() > 0) {
    abort();
  } else {
    leave();
  }
}

void NcclComm::initialise(MPI_Comm members, int blocks) {
  ncclUniqueId id{};
  if (rank_ == 0) check("ncclGetUniqueId", ncclGetUniqueId(&id));
  share(id, members);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  if (blocks > 0) {
    config.minCTAs = 1;
    config.maxCTAs = blocks;
  }
  check("ncclCommInitRankConfig", ncclCommInitRankConfig(&comm_, size_, id, rank_, &config));
}

void NcclComm::share(ncclUniqueId& id, MPI_Comm members) {
  RequestHandle request;
  PENSTOCK_MPI(MPI_Ibcast(&id, sizeof(id), MPI_BYTE, 0, members, request.address()), context_);
  const auto start = Clock::now();
  for (int done = 0; done == 0;) {
    PENSTOCK_MPI(MPI_Test(request.address(), &done, MPI_STATUS_IGNORE), context_);
    if (done == 0 && Clock::now() - start > patience_) {
      fail("ncclGetUniqueId", "the members have not met within " + seconds_text(patience_));
    }
    std::this_thread::yield();
  }
}

void NcclComm::group(const std::function<void(ncclComm_t)>& calls) {
  check("ncclGroupStart", ncclGroupStart());
  calls(comm_);
  const ncclResult_t status = ncclGroupEnd();
  if (failed_call_ != nullptr) fail(failed_call_, failed_status_);
  check("ncclGroupEnd", status);
}

void NcclComm::note(const char* call, ncclResult_t status) {
  if (status == ncclSuccess || status == ncclInProgress || failed_call_ != nullptr) return;
  failed_call_ = call;
  failed_status_ = status;
}

void NcclComm::check(const char* call, ncclResult_t status) {
  if (status == ncclSuccess) return;
  if (status == ncclInProgress) return wait_while_in_progress(call);
  fail(call, status);
}

void NcclComm::wait_while_in_progress(const char* call) {
  const auto start = Clock::now();
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    const ncclResult_t status = ncclCommGetAsyncError(comm_, &state);
    if (status != ncclSuccess) fail("ncclCommGetAsyncError", status);
    if (state != ncclInProgress) break;
    if (Clock::now() - start > patience_) {
      fail(call, "no answer from the other members within " + seconds_text(patience_));
    }
    std::this_thread::yield();
  }
  if (state != ncclSuccess) fail(call, state);
}

void NcclComm::look() {
  if (comm_ == nullptr) fail("look", "the communicator has failed before");
  ncclResult_t state = ncclSuccess;
  const ncclResult_t status = ncclCommGetAsyncError(comm_, &state);
  if (status != ncclSuccess) fail("ncclCommGetAsyncError", status);
  if (state != ncclSuccess && state != ncclInProgress) {
    fail("ncclCommGetAsyncError", state);
  }
}

void NcclComm::settle(const Stream& stream) {
  Event end;
  end.record(stream.get());
  const auto start = Clock::now();
  while (!end.passed()) {
    look();
    if (Clock::now() - start > patience_) {
      fail("the first message", "has not arrived within " + seconds_text(patience_));
    }
    std::this_thread::yield();
  }
}

std::string NcclComm::last_words() const {
  const char* last = comm_ == nullptr ? nullptr : ncclGetLastError(comm_);
  return last == nullptr ? "" : last;
}

void NcclComm::fail(const char* call, ncclResult_t status) {
  fail(call, ncclGetErrorString(status), fault_of(status, last_words(), cudaPeekAtLastError()));
}

void NcclComm::fail(const char* call, const std::string& words, Fault fault) {
  const std::string text = call;
  const std::string last = last_words();
  const std::string detail = last.empty() ? words : words + " (" + last + ")";
  abort();
  fail_by(fault, context_ + ": " + text.substr(0, text.find('(')) + ": " + detail + kCure);
}

void NcclComm::abort() noexcept {
  if (comm_ != nullptr) (void)ncclCommAbort(comm_);
  comm_ = nullptr;
}

// Leaves the communicator. It throws nothing, and waits at most kFarewell for the other ranks: one
// of them may be gone.
void NcclComm::leave() noexcept {
  if (comm_ == nullptr) return;
  ncclResult_t state = ncclCommFinalize(comm_);
  const auto start = Clock::now();
  while (state == ncclInProgress && Clock::now() - start < kFarewell) {
    std::this_thread::yield();
    if (ncclCommGetAsyncError(comm_, &state) != ncclSuccess) break;
  }
  if (state != ncclSuccess) return abort();
  (void)ncclCommDestroy(comm_);
  comm_ = nullptr;
}

}  // namespace penstock

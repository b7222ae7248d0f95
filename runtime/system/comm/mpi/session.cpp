#include "runtime/system/comm/mpi/session.h"

#include <dlfcn.h>
#include <mpi.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>

#include "kernels/error.h"
#include "runtime/system/comm/gpu_environment.h"
#include "runtime/system/comm/handle.h"
#include "runtime/system/comm/launcher.h"
#include "runtime/system/comm/mpi/mpi_check.h"

namespace penstock {
namespace {

constexpr const char* kStarting = "starting MPI";
constexpr std::chrono::minutes kLastOnes{
    30};  // how long a rank that has ended waits for busy ranks

// Returns whether process_vm_readv() works, tried on this process. Some containers forbid the call
// even between processes of one user.
bool may_read_other_processes() {
  char from = 1;
  char to = 0;
  const iovec local{&to, 1};
  const iovec remote{&from, 1};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1;
}

// Returns whether all ranks are on one host, as far as mpirun's variables say.
bool are_all_on_one_host() {
  const char* here = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  const char* all = std::getenv("OMPI_COMM_WORLD_SIZE");
  return here != nullptr && all != nullptr && std::string_view(here) == all;
}

bool is_open_mpi() {
  return Session::library_version().starts_with("Open MPI");
}

// Sets better defaults for Open MPI and CUDA, unless the user has set these variables. Other MPIs
// ignore the variables of Open MPI.
void set_defaults() {
  // CUDA gets more hardware queues. Streams that share a queue wait for one another, and a message
  // that waits for another rank must not hold up the computation behind it.
  (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  // A rank that waits gives way to other ranks. If there are more ranks than cores, this makes
  // barriers 600 times faster.
  (void)setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
  // Single copy (the receiver reads the sender's memory) stays on if it works, although a ping-pong
  // is 2-3 times faster without it. With single copy a receiver fetches a message while the sender
  // computes. Without single copy, the receiver waits until the sender has polled again and again
  // (16 MB, a poll every 0.5 ms: 2.6 ms against 280 ms).
  if (!may_read_other_processes()) {
    (void)setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
  }
  // The libraries of networks are not loaded if all ranks are on one host: loading them takes a
  // fifth of the start of 32 ranks.
  if (is_open_mpi() && are_all_on_one_host() && !Session::takes_gpu_memory()) {
    (void)setenv("OMPI_MCA_pml", "ob1", 0);
  }
}

// Returns PMIx's call that ends a job, or a null pointer if MPI does not run on PMIx or PMIx's
// library has another name. Open MPI's MPI_Abort makes that call, too, but prints a dozen lines
// before, which would bury ours.
using PmixAbort = int (*)(int status, const char* message, void* processes, size_t count);
PmixAbort pmix_abort() {
  void* library = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<PmixAbort>(dlsym(library, "PMIx_Abort"));
}

// Returns whether all ranks have come within the time. Callers must be sure that MPI still works.
bool have_all_come(std::chrono::seconds limit) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Ibarrier(MPI_COMM_WORLD, &request) != MPI_SUCCESS) return false;
  const auto end = std::chrono::steady_clock::now() + limit;
  int done = 0;
  while (std::chrono::steady_clock::now() < end) {
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (done != 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

// Waits until the launcher has read what this process wrote to standard error, at most a second.
// MPICH's launcher drops what is still in the pipe when a rank ends the job: one line in ten was
// lost without this wait.
void wait_until_errors_are_read() {
  constexpr int kLooks = 1000;
  struct stat kind {};
  if (fstat(STDERR_FILENO, &kind) != 0 || !S_ISFIFO(kind.st_mode)) return;
  int unread = 0;
  for (int look = 0; look < kLooks; ++look) {
    if (ioctl(STDERR_FILENO, FIONREAD, &unread) != 0 || unread == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// These two tell SIGTERM's handler what to do in a rank that waits for the end of its job. mpirun
// sends the signal when rank 0 has ended the job. The signal can also be a request to stop that was
// sent to all ranks, if other ranks received it earlier and have stopped the job in good order. If
// this rank died of the signal, the job would lose its exit code.
std::atomic<int> code_to_leave_with = 0;  // 0: other ranks are still to come
std::atomic<bool> is_told_to_leave = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void leave(int /*signal*/) {
  is_told_to_leave = true;
  if (const int code = code_to_leave_with; code != 0) std::_Exit(code);
}

// Throws an error of every rank. All processes refuse alike, though none of them knows of the other
// processes.
[[noreturn]] void refuse_unjoined(const std::string& complaint) {
  throw Error(ErrorKind::Input, complaint, ErrorScope::EveryRank);
}

// Returns whether this Open MPI has a plug-in for the PMI of Slurm, as far as its folder of
// plug-ins tells. Returns true if the folder tells nothing.
bool may_speak_pmi() {
  namespace fs = std::filesystem;
  Dl_info library{};
  if (dladdr(reinterpret_cast<void*>(&MPI_Init), &library) == 0) return true;
  std::error_code error;
  const fs::path folder = fs::canonical(library.dli_fname, error).parent_path();
  bool has_some = false;
  for (const char* name : {"openmpi", "openmpi/lib/openmpi3", "openmpi/lib/openmpi"}) {
    for (const auto& file : fs::directory_iterator(folder / name, error)) {
      const std::string plugin = file.path().filename();
      has_some = has_some || plugin.starts_with("mca_pmix_");
      if (plugin.starts_with("mca_pmix_s1.") || plugin.starts_with("mca_pmix_s2.")) return true;
    }
  }
  return !has_some;  // no plug-ins: they may be a part of the library
}

// Refuses a start by Slurm that this Open MPI does not understand. Open MPI itself would end the
// process with a paragraph about its configuration.
void refuse_slurm_without_pmix() {
  if (!is_open_mpi()) return;
  if (is_slurm_without_pmix(std::getenv) || (is_slurm_with_pmi(std::getenv) && !may_speak_pmi())) {
    refuse_unjoined(launcher_complaint(std::getenv, Session::library_version()));
  }
}

}  // namespace

Session::Session(int& argc, char**& argv) : started_by_(starter(std::getenv)) {
  for (int i = 1; i < argc; ++i) {
    if (i > 1) arguments_ += ' ';
    arguments_ += argv[i];
  }
  refuse_slurm_without_pmix();
  const std::string complaint =
      launcher_complaint(std::getenv, library_version());  // reported below if this rank is alone
  set_defaults();
  int provided = MPI_THREAD_SINGLE;
  PENSTOCK_MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided), kStarting);
  PENSTOCK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), kStarting);
  PENSTOCK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), kStarting);
  PENSTOCK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks_), kStarting);
  if (ranks_ > 1) {  // for NCCL, and for CUDA unless MPI has started it by now
    for (const auto& [name, value] : gpu_environment(std::getenv)) {
      (void)setenv(name.c_str(), value.c_str(), 0);
    }
  }
  if (provided < MPI_THREAD_MULTIPLE) {
    fail_peer(library_version() +
              " does not give MPI_THREAD_MULTIPLE: use an MPI that was built with it; Cray's wants "
              "MPICH_MAX_THREAD_SAFETY=multiple, MVAPICH2 MV2_ENABLE_AFFINITY=0");
  }
  if (ranks_ == 1 && !complaint.empty()) refuse_unjoined(complaint);

  CommHandle host;
  PENSTOCK_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL,
                                   host.address()),
               kStarting);
  PENSTOCK_MPI(MPI_Comm_rank(host.get(), &local_rank_), kStarting);
  int on_host = 0;
  PENSTOCK_MPI(MPI_Comm_size(host.get(), &on_host), kStarting);
  host_ranks_.resize(static_cast<size_t>(on_host));
  PENSTOCK_MPI(MPI_Allgather(&rank_, 1, MPI_INT, host_ranks_.data(), 1, MPI_INT, host.get()),
               kStarting);
  std::array<char, MPI_MAX_PROCESSOR_NAME + 1> name{};
  int length = 0;
  PENSTOCK_MPI(MPI_Get_processor_name(name.data(), &length), kStarting);
  host_.assign(name.data(), static_cast<size_t>(length));
}

Session::~Session() {
  // An exception is leaving main(). The other ranks wait for this rank, and MPI_Finalize would wait
  // for the other ranks, so the job is aborted.
  if (std::uncaught_exceptions() > 0) abort(static_cast<int>(ErrorKind::Internal));
  // MPI_Finalize waits for all ranks without a time limit. So the ranks meet first, in a wait that
  // has one.
  if (ranks_ > 1 && !have_all_come(kLastOnes)) abort(static_cast<int>(ErrorKind::Peer));
  (void)MPI_Finalize();
}

std::string Session::library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING + 1> words{};
  int length = 0;
  PENSTOCK_MPI(MPI_Get_library_version(words.data(), &length), kStarting);
  const std::string text(words.data(), static_cast<size_t>(length));
  std::string line = text.substr(0, text.find_first_of(",\n"));
  // The first line of MPICH is "MPICH Version:", tabs or blanks, and the number.
  constexpr std::string_view kMpich = "MPICH Version:";
  if (!line.starts_with(kMpich)) return line;
  const size_t number = line.find_first_not_of(" \t", kMpich.size());
  return "MPICH " + (number == std::string::npos ? "" : line.substr(number));
}

bool Session::takes_gpu_memory() {
  // Open MPI and MPICH have this function, but declare it differently, so it is looked up by its
  // name. Other MPIs cannot even be asked.
  using Query = int (*)();
  const auto query = reinterpret_cast<Query>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  return query != nullptr && query() == 1;
}

void Session::abort(int exit_code) const {
  (void)std::fflush(nullptr);
  wait_until_errors_are_read();
  const PmixAbort quiet = pmix_abort();
  if (quiet == nullptr || quiet(exit_code, "", nullptr, 0) != 0) {
    // MPICH and MPIs made from it print a line of their own in this process. Standard error is
    // closed before that, since our line is to be the last.
    if (std::freopen("/dev/null", "w", stderr) == nullptr) (void)close(STDERR_FILENO);
    (void)MPI_Abort(MPI_COMM_WORLD, exit_code);
  }
  std::_Exit(exit_code);
}

void Session::end_together(int exit_code) const {
  if (exit_code == 0) return;
  constexpr std::chrono::seconds kStragglers{5};
  constexpr std::chrono::milliseconds kPatience{200};
  (void)std::fflush(nullptr);
  (void)std::signal(SIGTERM, leave);
  if (pmix_abort() == nullptr) return;  // caught by now, SIGTERM changes no exit code
  const bool all_here = have_all_come(kStragglers);
  if (rank_ == 0 || !all_here) abort(exit_code);
  // Rank 0 ends the job, which sends this process a signal; the signal may just have come. So this
  // rank only waits.
  code_to_leave_with = exit_code;
  std::this_thread::sleep_for(is_told_to_leave ? kPatience : kStragglers);
  std::_Exit(exit_code);
}

}  // namespace penstock

#include "runtime/system/comm/mpi/session.h"

#include <dlfcn.h>
#include <mpi.h>
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
constexpr std::chrono::minutes kLastOnes{30};  // for ranks that are still busy when others end

// Some containers forbid process_vm_readv even between processes of one user.
bool may_read_other_processes() {
  char from = 1;
  char to = 0;
  const iovec local{&to, 1};
  const iovec remote{&from, 1};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1;
}

// Whether all ranks are on one host, as mpirun says.
bool are_all_on_one_host() {
  const char* here = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  const char* all = std::getenv("OMPI_COMM_WORLD_SIZE");
  return here != nullptr && all != nullptr && std::string_view(here) == all;
}

bool is_open_mpi() {
  return Session::library_version().starts_with("Open MPI");
}

// Better defaults for Open MPI and CUDA, where the user has set none; others ignore the names.
void set_defaults() {
  // Streams that share a hardware queue wait for one another, and a message that waits for another
  // rank must not hold up the computation behind it.
  (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  // A rank that waits gives way: 600 times faster barriers when there are more ranks than cores.
  (void)setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
  // Single copy stays on where it works, although a ping-pong is 2-3 times faster without: with it
  // a receiver fetches a message from a sender that is computing; without, it waits until that one
  // has polled again and again (16 MB, a poll every 0.5 ms: 2.6 ms against 280 ms).
  if (!may_read_other_processes()) {
    (void)setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
  }
  // Loading the libraries of networks that are not used takes a fifth of the start of 32 ranks.
  if (is_open_mpi() && are_all_on_one_host() && !Session::takes_gpu_memory()) {
    (void)setenv("OMPI_MCA_pml", "ob1", 0);
  }
}

// Open MPI's MPI_Abort asks PMIx, which knows the job, to end it, after it has printed a dozen
// lines that would bury ours. This is that call to PMIx. Null where MPI does not run on PMIx, or
// its version has another name.
using PmixAbort = int (*)(int status, const char* message, void* processes, size_t count);
PmixAbort pmix_abort() {
  void* library = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<PmixAbort>(dlsym(library, "PMIx_Abort"));
}

// Whether all ranks have come within the time. MPI may be asked that while it is in order.
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

// The state for SIGTERM in a rank that waits for the end of its job. mpirun sends the signal when
// rank 0 has ended the job, and waits for a second. But it may also be a request to stop that was
// sent to all ranks, some of which have received it earlier and have stopped the job in good order:
// a rank that dies of that one takes the exit code with it.
std::atomic<int> code_to_leave_with = 0;  // 0: other ranks are still to come
std::atomic<bool> is_told_to_leave = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void leave(int /*signal*/) {
  is_told_to_leave = true;
  if (const int code = code_to_leave_with; code != 0) std::_Exit(code);
}

// All of the processes refuse alike, though none knows of the others.
[[noreturn]] void refuse_unjoined(const std::string& complaint) {
  throw Error(ErrorKind::Input, complaint, ErrorScope::EveryRank);
}

// Whether this Open MPI has a plug-in for the PMI of Slurm, as far as its folder of plug-ins tells.
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
  return !has_some;  // they may be a part of the library
}

// Refuses in a sentence of ours what Open MPI would end with a paragraph about its configuration.
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
      launcher_complaint(std::getenv, library_version());  // if this rank is alone
  set_defaults();
  int provided = MPI_THREAD_SINGLE;
  PENSTOCK_MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided), kStarting);
  PENSTOCK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), kStarting);
  PENSTOCK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), kStarting);
  PENSTOCK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks_), kStarting);
  if (ranks_ > 1) {  // an MPI that uses GPUs itself may have started CUDA by now, as it was
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
  // An exception on its way out of main: the other ranks wait for this one, and MPI_Finalize would
  // wait for them.
  if (std::uncaught_exceptions() > 0) abort(static_cast<int>(ErrorKind::Internal));
  // MPI_Finalize waits for all ranks, without a time limit.
  if (ranks_ > 1 && !have_all_come(kLastOnes)) abort(static_cast<int>(ErrorKind::Peer));
  (void)MPI_Finalize();
}

std::string Session::library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING + 1> words{};
  int length = 0;
  PENSTOCK_MPI(MPI_Get_library_version(words.data(), &length), kStarting);
  const std::string text(words.data(), static_cast<size_t>(length));
  std::string line = text.substr(0, text.find_first_of(",\n"));
  // MPICH's first line is "MPICH Version:", tabs or blanks, and the number.
  constexpr std::string_view kMpich = "MPICH Version:";
  if (!line.starts_with(kMpich)) return line;
  const size_t number = line.find_first_not_of(" \t", kMpich.size());
  return "MPICH " + (number == std::string::npos ? "" : line.substr(number));
}

bool Session::takes_gpu_memory() {
  // Open MPI and MPICH have it, and no two declare it alike; others cannot even be asked.
  using Query = int (*)();
  const auto query = reinterpret_cast<Query>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  return query != nullptr && query() == 1;
}

void Session::abort(int exit_code) const {
  const PmixAbort quiet = pmix_abort();
  if (quiet == nullptr || quiet(exit_code, "", nullptr, 0) != 0) {
    // MPICH and its kin print a line of their own in this process; ours is to be the last.
    (void)std::fflush(nullptr);
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
  if (pmix_abort() == nullptr) return;  // a request that comes while MPI ends changes no exit code
  const bool all_here = have_all_come(kStragglers);
  if (rank_ == 0 || !all_here) abort(exit_code);
  // Rank 0 ends this process, by a signal that may just have come.
  code_to_leave_with = exit_code;
  std::this_thread::sleep_for(is_told_to_leave ? kPatience : kStragglers);
  std::_Exit(exit_code);
}

}  // namespace penstock

#include "runtime/system/comm/watch/shared_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <random>

#include "kernels/error.h"
#include "runtime/system/comm/mpi/mpi_check.h"

namespace penstock {
namespace {

constexpr const char* kSharing = "sharing the activity logs of this host's ranks";
constexpr size_t kHeadBytes = 64;  // room for the claim; pages begin on a cache line
constexpr size_t kNameBytes = 64;

// Returns whether all members have succeeded. `here` says whether this member has.
bool all_well(MPI_Comm members, bool here) {
  int mine = here ? 1 : 0;
  int all = 0;
  PENSTOCK_MPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, members), kSharing);
  return all == 1;
}

}  // namespace

// Returns a file descriptor of new memory of zeros, or -1 if that fails. Only processes of this
// user can open the memory.
int SharedPages::make(size_t size_bytes, std::string& name) {
  std::random_device random;
  name = "/penstock-" + std::to_string(getpid()) + "-" + std::to_string(random());
  const int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
  if (file < 0) return -1;
  // ftruncate() alone is not enough: if /dev/shm is full, the first write would end the process.
  if (posix_fallocate(file, 0, static_cast<off_t>(size_bytes)) == 0) return file;
  (void)close(file);
  (void)shm_unlink(name.c_str());
  return -1;
}

SharedPages::SharedPages(MPI_Comm members) {
  int rank = 0;
  int ranks = 1;
  PENSTOCK_MPI(MPI_Comm_rank(members, &rank), kSharing);
  PENSTOCK_MPI(MPI_Comm_size(members, &ranks), kSharing);
  const size_t all_bytes = kHeadBytes + static_cast<size_t>(ranks) * sizeof(ActivityPage);
  std::string name;
  int file = rank == 0 ? make(all_bytes, name) : -1;
  name.resize(kNameBytes);
  PENSTOCK_MPI(MPI_Bcast(name.data(), kNameBytes, MPI_CHAR, 0, members), kSharing);
  if (rank != 0) file = shm_open(name.c_str(), O_RDWR, 0);
  void* shared = MAP_FAILED;
  if (file >= 0) {
    shared = mmap(nullptr, all_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    (void)close(file);
  }
  const bool well = all_well(members, shared != MAP_FAILED);
  if (rank == 0 && file >= 0) (void)shm_unlink(name.c_str());
  if (well) {
    count_ = ranks;
    own_ = rank;
    size_bytes_ = all_bytes;
    memory_ = shared;
  } else {
    if (shared != MAP_FAILED) (void)munmap(shared, all_bytes);
    size_bytes_ = kHeadBytes + sizeof(ActivityPage);
    memory_ =
        mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) fail_resource(std::string(kSharing) + ": there is no memory");
  }
  // The memory is zeros, which are empty pages. So nothing has to be constructed before other ranks
  // look.
  claimed_ = static_cast<std::atomic<uint64_t>*>(memory_);
  pages_ = reinterpret_cast<ActivityPage*>(static_cast<char*>(memory_) + kHeadBytes);
}

SharedPages::~SharedPages() {
  (void)munmap(memory_, size_bytes_);
}

}  // namespace penstock

#include "tests/host_cuda/wire.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tests/host_cuda/stop.h"

namespace penstock::host_cuda {
namespace {

constexpr size_t kHeaderBytes = 4096;

}  // namespace

WireName new_wire() {
  // Stays open: others come by its name, at a time of their own.
  const int descriptor = memfd_create("penstock_host_nccl", MFD_CLOEXEC);
  if (descriptor < 0) stop("no memory to share between processes");
  return {getpid(), descriptor};
}

Wire::Wire(const WireName& name, int members, int rank, int device, int blocks)
    : members_(members),
      rank_(rank),
      size_bytes_(kHeaderBytes + static_cast<size_t>(members * members) * sizeof(Ring)) {
  const std::string path =
      "/proc/" + std::to_string(name.process) + "/fd/" + std::to_string(name.descriptor);
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  // Every member sets the same size; what is new is zero.
  if (descriptor < 0 || ftruncate(descriptor, static_cast<off_t>(size_bytes_)) != 0) {
    stop("the processes of a communicator cannot share memory through " + path);
  }
  memory_ = mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory_ == MAP_FAILED) stop("no room for the memory that a communicator shares");
  close(descriptor);
  static_cast<Shared*>(memory_)->blocks[rank] = blocks;
  static_cast<Shared*>(memory_)->device_plus_one[rank] = device + 1;
}

Wire::~Wire() {
  munmap(memory_, size_bytes_);
}

bool Wire::complete() const {
  const auto& devices = static_cast<const Shared*>(memory_)->device_plus_one;
  return std::none_of(devices, devices + members_, [](const auto& d) { return d == 0; });
}

std::string Wire::same_device() const {
  const auto& devices = static_cast<const Shared*>(memory_)->device_plus_one;
  for (int a = 0; a < members_; ++a) {
    for (int b = a + 1; b < members_; ++b) {
      if (devices[a] == devices[b]) {
        return "rank " + std::to_string(a) + " and rank " + std::to_string(b);
      }
    }
  }
  return "";
}

bool Wire::same_blocks() const {
  const auto& blocks = static_cast<const Shared*>(memory_)->blocks;
  return std::all_of(blocks, blocks + members_, [&](const auto& b) { return b == blocks[0]; });
}

Wire::Ring& Wire::ring(int from, int to) const {
  auto* const rings = reinterpret_cast<Ring*>(static_cast<std::byte*>(memory_) + kHeaderBytes);
  return rings[from * members_ + to];
}

size_t Wire::send(int to, const std::byte* bytes, size_t most) {
  Ring& to_other = ring(rank_, to);
  const uint64_t written = to_other.written;
  const size_t count = std::min<size_t>(most, kRingBytes - (written - to_other.read));
  const size_t at = written % kRingBytes;
  const size_t before_end = std::min<size_t>(count, kRingBytes - at);
  std::memcpy(to_other.bytes + at, bytes, before_end);
  std::memcpy(to_other.bytes, bytes + before_end, count - before_end);
  to_other.written = written + count;
  return count;
}

size_t Wire::receive(int from, std::byte* bytes, size_t most) {
  Ring& from_other = ring(from, rank_);
  const uint64_t read = from_other.read;
  const size_t count = std::min<size_t>(most, from_other.written - read);
  const size_t at = read % kRingBytes;
  const size_t before_end = std::min<size_t>(count, kRingBytes - at);
  std::memcpy(bytes, from_other.bytes + at, before_end);
  std::memcpy(bytes + before_end, from_other.bytes, count - before_end);
  from_other.read = read + count;
  return count;
}

bool Wire::all_received(int by) const {
  const Ring& to_other = ring(rank_, by);
  return to_other.read == to_other.written;
}

}  // namespace penstock::host_cuda

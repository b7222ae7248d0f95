// tests/host_cuda/wire.h -- Wire: memory that the processes of one communicator share, with the
// members that have come and a ring of bytes for each ordered pair of them. It is no file, and goes
// with the last process that maps it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace penstock::host_cuda {

// The name by which processes of this host and user open a wire, while the process that made it
// lives.
struct WireName {
  int32_t process = 0;
  int32_t descriptor = 0;
};
[[nodiscard]] WireName new_wire();

class Wire {
 public:
  static constexpr int kMostMembers = 64;
  static constexpr uint64_t kRingBytes = 64 << 10;

  // Announces this member, its device and the blocks of its kernels. Throws nothing: a wire that
  // cannot be had stops the program.
  Wire(const WireName& name, int members, int rank, int device, int blocks);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  [[nodiscard]] bool complete() const;  // every member has come
  // Two members that have one device, as "rank 0 and rank 1"; empty: none have. Once complete().
  [[nodiscard]] std::string same_device() const;
  // Whether all members have announced equally many blocks. Once complete().
  [[nodiscard]] bool same_blocks() const;

  // Move up to `most` bytes to or from a member, in order; return how many.
  size_t send(int to, const std::byte* bytes, size_t most);
  size_t receive(int from, std::byte* bytes, size_t most);
  // Whether all that was sent to that member has been received.
  [[nodiscard]] bool all_received(int by) const;

 private:
  struct Ring {
    std::atomic<uint64_t> written, read;
    std::byte bytes[kRingBytes];
  };
  struct Shared {
    std::atomic<int32_t> blocks[kMostMembers];
    std::atomic<int32_t> device_plus_one[kMostMembers];  // 0: not here yet
  };

  [[nodiscard]] Ring& ring(int from, int to) const;

  int members_, rank_;
  size_t size_bytes_;
  void* memory_;
};

}  // namespace penstock::host_cuda

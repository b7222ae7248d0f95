// tests/host_cuda/wire.h -- memory that the processes of one communicator share: who has come, and
// a ring of bytes for each ordered pair of members. It belongs to no file, and goes with the last
// process that has it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace penstock::host_cuda {

// Names a wire to processes of this host and user, while the process that made it lives.
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
  // Two members that have one device, once complete(), as "rank 0 and rank 1"; empty without.
  [[nodiscard]] std::string same_device() const;
  [[nodiscard]] bool same_blocks() const;  // likewise: all members have asked for equally many

  // Up to `most` bytes to or from a member; how many it was. Byte order is the ring's.
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

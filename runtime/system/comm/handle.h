// runtime/system/comm/handle.h -- UniqueHandle: owns an MPI handle (communicator, group or request)
// and frees it once; it can be moved, not copied.
//
// The destructor calls MPI_Comm_free, MPI_Group_free or MPI_Request_free and ignores the status, so
// it never throws. MPI_Comm_free is collective by the standard: all members of a communicator must
// destroy their handles of it, though they need not meet for it. While an exception unwinds the
// destructor frees nothing: the job is about to be aborted, and MPI must not be called after a
// failure.
#pragma once

#include <mpi.h>

#include <exception>
#include <utility>

namespace penstock {

// What UniqueHandle must know of a kind of handle: its null, and how one is freed.
struct CommTraits {
  using Raw = MPI_Comm;
  static Raw null() { return MPI_COMM_NULL; }
  static void free(Raw raw) noexcept { (void)MPI_Comm_free(&raw); }
};

struct GroupTraits {
  using Raw = MPI_Group;
  static Raw null() { return MPI_GROUP_NULL; }
  static void free(Raw raw) noexcept { (void)MPI_Group_free(&raw); }
};

struct RequestTraits {
  using Raw = MPI_Request;
  static Raw null() { return MPI_REQUEST_NULL; }
  static void free(Raw raw) noexcept { (void)MPI_Request_free(&raw); }
};

template <class Traits>
class UniqueHandle {
 public:
  using Raw = typename Traits::Raw;

  UniqueHandle() = default;
  UniqueHandle(UniqueHandle&& other) noexcept : raw_(std::exchange(other.raw_, Traits::null())) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    std::swap(raw_, other.raw_);  // `other` frees what this held
    return *this;
  }
  UniqueHandle(const UniqueHandle&) = delete;
  UniqueHandle& operator=(const UniqueHandle&) = delete;
  ~UniqueHandle() {
    if (raw_ != Traits::null() && std::uncaught_exceptions() == 0) Traits::free(raw_);
  }

  [[nodiscard]] Raw get() const { return raw_; }
  // The address of the handle, which MPI calls write to: those that make one (nothing may be held
  // then, since it would not be freed), and those that start, test or complete a request.
  [[nodiscard]] Raw* address() { return &raw_; }

 private:
  Raw raw_ = Traits::null();
};

using CommHandle = UniqueHandle<CommTraits>;
using GroupHandle = UniqueHandle<GroupTraits>;
using RequestHandle = UniqueHandle<RequestTraits>;

}  // namespace penstock

// runtime/system/comm/mpi/request_pool.h -- RequestPool: makes persistent MPI requests to one peer
// and keeps them, by buffer address and size, for later transfers.
//
// The caching allocator hands out the same few addresses again and again, so after the first steps
// a transfer is an MPI_Start on a request that exists: nothing is copied and nothing is made.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/system/comm/handle.h"

namespace penstock {

enum class Transfer : uint8_t { Send, Receive };

class RequestPool {
 public:
  // `made` counts every request made and must outlive the pool; so must `context`, which says in
  // errors what is transferred.
  RequestPool(MPI_Comm comm, int peer, int tag, Transfer transfer, const std::string& context,
              int64_t& made)
      : comm_(comm), peer_(peer), tag_(tag), transfer_(transfer), context_(context), made_(made) {}

  // Starts the transfer of these bytes on an idle request for them, made first if there is none,
  // and returns its number. Throws Error(Peer) when MPI fails.
  int start(void* data, int size_bytes);
  // The request itself, to test or wait for.
  [[nodiscard]] MPI_Request* request(int number) { return entry(number).request.address(); }
  [[nodiscard]] int size_bytes(int number) { return entry(number).buffer.size_bytes; }
  // Called when the transfer has completed: the request may be started again.
  void put_back(int number) { idle_[entry(number).buffer].push_back(number); }

 private:
  struct Buffer {
    void* data;
    int size_bytes;
    bool operator==(const Buffer&) const = default;
  };
  struct BufferHash {
    size_t operator()(const Buffer& buffer) const {
      return std::hash<void*>()(buffer.data) ^
             (static_cast<size_t>(buffer.size_bytes) * size_t{0x9e3779b97f4a7c15});
    }
  };
  struct Entry {
    RequestHandle request;
    Buffer buffer;
  };

  [[nodiscard]] Entry& entry(int number) { return entries_[static_cast<size_t>(number)]; }
  [[nodiscard]] RequestHandle make(const Buffer& buffer);

  MPI_Comm comm_;
  int peer_;
  int tag_;
  Transfer transfer_;
  const std::string& context_;
  int64_t& made_;
  std::vector<Entry> entries_;
  std::unordered_map<Buffer, std::vector<int>, BufferHash> idle_;  // numbers of idle requests
};

}  // namespace penstock

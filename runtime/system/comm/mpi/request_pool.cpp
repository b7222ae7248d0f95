#include "runtime/system/comm/mpi/request_pool.h"

#include <utility>

#include "runtime/system/comm/mpi/mpi_check.h"

namespace penstock {

int RequestPool::start(void* data, int size_bytes) {
  const Buffer buffer{data, size_bytes};
  std::vector<int>& idle = idle_[buffer];
  if (idle.empty()) {
    entries_.push_back({make(buffer), buffer});
    idle.push_back(static_cast<int>(entries_.size()) - 1);
  }
  const int number = idle.back();
  PENSTOCK_MPI(MPI_Start(request(number)), context_);
  idle.pop_back();
  return number;
}

RequestHandle RequestPool::make(const Buffer& buffer) {
  RequestHandle made;
  if (transfer_ == Transfer::Send) {
    PENSTOCK_MPI(
        MPI_Send_init(buffer.data, buffer.size_bytes, MPI_BYTE, peer_, tag_, comm_, made.address()),
        context_);
  } else {
    PENSTOCK_MPI(
        MPI_Recv_init(buffer.data, buffer.size_bytes, MPI_BYTE, peer_, tag_, comm_, made.address()),
        context_);
  }
  ++made_;
  return made;
}

}  // namespace penstock

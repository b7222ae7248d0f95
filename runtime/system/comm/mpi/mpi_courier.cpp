#include "runtime/system/comm/mpi/mpi_courier.h"

#include <utility>

#include "runtime/system/comm/mpi/mpi_check.h"

namespace penstock {
namespace {

constexpr const char* kCarrying = "copies of what ranks keep";

}  // namespace

MpiCourier::MpiCourier(CommHandle comm, ActivityLog* activity_log)
    : comm_(std::move(comm)), activity_log_(activity_log) {}

// Leaves requests that are under way to MPI. This happens if the run fails: the other ranks then
// never come, so nobody waits for the requests.
MpiCourier::~MpiCourier() {
  for (Requests* requests : {&sends_, &receives_}) {
    for (RequestHandle& request : *requests) *request.address() = MPI_REQUEST_NULL;
  }
}

void MpiCourier::send(std::span<const std::byte> bytes, int to) {
  PENSTOCK_MPI(MPI_Isend(bytes.data(), mpi_count(bytes.size(), kCarrying), MPI_BYTE, to, 0,
                         comm_.get(), sends_.emplace_back().address()),
               kCarrying);
}

void MpiCourier::receive(std::span<std::byte> bytes, int from) {
  PENSTOCK_MPI(MPI_Irecv(bytes.data(), mpi_count(bytes.size(), kCarrying), MPI_BYTE, from, 0,
                         comm_.get(), receives_.emplace_back().address()),
               kCarrying);
}

void MpiCourier::progress() {
  take_ended(sends_);
  take_ended(receives_);
}

void MpiCourier::take_ended(Requests& requests) {
  while (!requests.empty()) {
    int done = 0;
    PENSTOCK_MPI(MPI_Test(requests.front().address(), &done, MPI_STATUS_IGNORE), kCarrying);
    if (done == 0) return;
    requests.pop_front();
    if (activity_log_ != nullptr) activity_log_->beat();
  }
}

}  // namespace penstock

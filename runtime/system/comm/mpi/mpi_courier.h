// runtime/system/comm/mpi/mpi_courier.h -- MpiCourier: carries bytes from the memory of one rank to
// another's by MPI, on a communicator of its own.
#pragma once

#include <deque>

#include "runtime/system/comm/handle.h"
#include "runtime/system/comm/network.h"

namespace penstock {

class MpiCourier final : public Courier {
 public:
  // `activity_log` is told of messages that have come; it may be null, and must outlive this.
  MpiCourier(CommHandle comm, ActivityLog* activity_log);
  ~MpiCourier() override;
  MpiCourier(const MpiCourier&) = delete;
  MpiCourier& operator=(const MpiCourier&) = delete;

  void send(std::span<const std::byte> bytes, int to) override;
  void receive(std::span<std::byte> bytes, int from) override;
  void progress() override;
  [[nodiscard]] size_t sends_under_way() const override { return sends_.size(); }
  [[nodiscard]] size_t receives_under_way() const override { return receives_.size(); }

 private:
  // Requests in the order in which they were posted, in which they mostly end.
  using Requests = std::deque<RequestHandle>;
  void take_ended(Requests& requests);

  CommHandle comm_;
  ActivityLog* activity_log_;
  Requests sends_, receives_;
};

}  // namespace penstock

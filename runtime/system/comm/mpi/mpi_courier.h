// runtime/system/comm/mpi/mpi_courier.h -- MpiCourier: carries bytes from the memory of one rank to
// another's by MPI, on a communicator of its own. Copies of the training state in memory travel so.
//
// Nothing here waits. Only the destructor is collective, since it frees the communicator
// (handle.h). send() and receive() post a message and return; the message ends when progress()
// finds it so. Between two ranks the n-th receive() from one gets
// the n-th send() of the other, and must expect as many bytes. Each function throws Error(Peer)
// when MPI fails, and Error(Internal) for a message of 2^31 bytes or more.
#pragma once

#include <deque>

#include "runtime/system/comm/handle.h"
#include "runtime/system/comm/network.h"

namespace penstock {

class MpiCourier final : public Courier {
 public:
  // Takes over `comm`. `activity_log` is told of each message that has ended; it may be null, and
  // must outlive this.
  MpiCourier(CommHandle comm, ActivityLog* activity_log);
  // Does not wait for messages under way: MPI may go on reading and writing their bytes, so the
  // caller must keep that memory to the end of the process.
  ~MpiCourier() override;
  MpiCourier(const MpiCourier&) = delete;
  MpiCourier& operator=(const MpiCourier&) = delete;

  // `to` and `from` are ranks of `comm`. The bytes must stay in place, those to send unchanged,
  // until the message has ended: at the latest when sends_under_way(), or receives_under_way(), is
  // 0.
  void send(std::span<const std::byte> bytes, int to) override;
  void receive(std::span<std::byte> bytes, int from) override;
  // Lets MPI move messages, then lowers the two counts below by the messages that have ended. These
  // are taken in the order of posting: a message that ends before an earlier one stays in its count
  // until the earlier one has ended, too.
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

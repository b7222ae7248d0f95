// runtime/system/comm/mpi/mpi_reduce.h -- sums over the replicas by MPI, for host memory.
//
// A direct reduce-scatter and all-gather: a buffer is cut into slices, a slice into one segment for
// each of the D members; every member sends each segment to its owner, who adds the D members'
// copies and sends the sum to all. Each member sends 2 (D-1)/D of the buffer, as in a ring, but in
// two steps instead of 2 (D-1), and every element is added in one order
// (runtime/system/comm/pairwise.h). A ring starts each segment at another member: its bits would
// depend on where in a buffer a parameter lies, and so on how many stages the pipeline has.
//
// start() does both steps. scatter() does the first alone and gather() the second, for members of
// which each keeps its own part of the sums, between `cuts` that all members agree on. ReduceGroup
// (runtime/system/comm/network.h) says what callers must keep to.
//
// Slices pass through a few lanes, which work at the same time and keep the wire busy while another
// lane adds. A lane is a tag and scratch memory; its slices follow one another in the same order on
// all members, so messages match without headers.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/memory/memory.h"
#include "runtime/system/comm/handle.h"
#include "runtime/system/comm/network.h"
#include "runtime/system/comm/pollers.h"

namespace penstock {

// Throws Error(Internal) unless the buffer is fp32 and 1-d; `context` begins the message.
void check_gradients(const std::string& context, const Tensor& buffer);

class MpiReduceGroup final : public ReduceGroup, private Poller {
 public:
  // `memory` (for the scratch), `pollers` and MPI must outlive the group. The group goes on summing
  // whenever something waits by `pollers`.
  MpiReduceGroup(CommHandle comm, const std::string& name, Memory& memory, Pollers& pollers);
  // Everything must have ended (finish()); else a line on standard error says that it has not.
  ~MpiReduceGroup() override;
  [[nodiscard]] int size() const override { return size_; }
  void start(const Tensor& buffer) override;
  void scatter(const Tensor& buffer, std::span<const int64_t> cuts) override;
  void gather(const Tensor& buffer, std::span<const int64_t> cuts) override;
  void progress() override;
  // Waits for this buffer alone. An error calls it the weights of other replicas, since it is used
  // after gather().
  void wait(const Tensor& buffer) override;
  void finish() override;
  // Throws Error(Internal) unless start() would take the buffer.
  void check(const Tensor& buffer) const;
  // Whether everything that was started with this buffer has ended.
  [[nodiscard]] bool is_done(const Tensor& buffer) const;
  [[nodiscard]] const std::string& context() const { return name_; }  // for errors

 private:
  enum class Phase : uint8_t { Idle, Scatter, Gather };
  enum class Work : uint8_t { Sum, Scatter, Gather };  // Sum, of start(): both phases

  struct Plan;
  // One segment of each member's elements of a buffer.
  struct Slice {
    Plan* plan;
    int64_t offset;  // of the segments in each member's elements; the last may be shorter or empty
    [[nodiscard]] int64_t first(int member) const;
    [[nodiscard]] int64_t length(int member) const;
  };
  struct Lane {
    Tensor scratch;             // (D-1, segment): the other members' copies of my segment
    std::vector<Slice*> queue;  // slices that were started since the last finish()
    size_t next = 0;            // first of the queue that has not begun
    Slice* slice = nullptr;     // under way
    Phase phase = Phase::Idle;
    int pending = 0;  // requests under way
  };
  struct Plan {
    Tensor buffer;  // held, so that no other tensor can appear at its address
    Work work = Work::Sum;
    std::vector<int64_t> cuts;
    int64_t segment = 0;  // elements
    size_t first_lane = 0;
    std::vector<Slice> slices = {};
    size_t left = 0;  // slices that are not done
  };

  void poll() override { progress(); }
  [[nodiscard]] std::string awaited() const override { return busy_lanes_ > 0 ? name_ : ""; }
  void enqueue(const Tensor& buffer, Work work, std::span<const int64_t> cuts);
  [[nodiscard]] Plan& plan_of(const Tensor& buffer, Work work, std::span<const int64_t> cuts);
  void add_slices(Plan& plan);
  void begin(size_t lane, Phase phase);
  void receive(size_t lane, size_t other, float* data, int64_t length);
  void send(size_t lane, size_t other, const float* data, int64_t length);
  void advance(size_t lane);  // the phase under way has completed
  void add_in_pairs(const Lane& lane) const;
  void complete(int result, int completed);  // with the results of MPI_Testsome
  // Throws Error(Peer) when the `request`-th transfer of the lane's phase has failed or has another
  // size.
  void check(const Lane& lane, size_t request, int error, const MPI_Status& status) const;
  [[nodiscard]] int member_of(size_t other) const;

  CommHandle comm_;
  std::string name_;    // what finish() waits for, for errors and the activity_log
  std::string wanted_;  // what wait() waits for
  Memory& memory_;
  Pollers& pollers_;
  int rank_ = 0, size_ = 1;
  size_t others_ = 0;                             // size_ - 1
  std::map<std::pair<void*, Work>, Plan> plans_;  // by buffer address
  std::vector<Lane> lanes_;
  size_t next_lane_ = 0;
  int busy_lanes_ = 0;
  // The requests lane by lane: the receives from the other members, then the sends to them, both in
  // rank order; null where nothing is under way. No more are made at a time, however much is
  // summed.
  std::vector<MPI_Request> requests_;
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
  PollerEntry entry_;
};

}  // namespace penstock

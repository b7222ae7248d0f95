// runtime/system/comm/mpi/mpi_network.cpp -- makes the communicators of a run and the ends that use
// them.
//
// Every communicator is made in the same order everywhere: world, pipelines and replicas by the
// constructor, one for all links of a pipeline, whose edges differ by tag, with the first of them.
// Each takes a millisecond and more for 64 ranks on two cores. Only NCCL wants one per edge, made
// by the edge's two ranks alone. A rank that waits for its partner in edge e waits for a rank that
// is busy with an earlier edge, so the lowest unfinished edge always has both its ranks: no
// deadlock, and edges that share no rank are made at the same time.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "kernels/error.h"
#include "runtime/system/comm/accelerated.h"
#include "runtime/system/comm/cuda_versions.h"
#include "runtime/system/comm/handle.h"
#include "runtime/system/comm/mpi/mpi_check.h"
#include "runtime/system/comm/mpi/mpi_collective.h"
#include "runtime/system/comm/mpi/mpi_courier.h"
#include "runtime/system/comm/mpi/mpi_late_gather.h"
#include "runtime/system/comm/mpi/mpi_link.h"
#include "runtime/system/comm/mpi/mpi_reduce.h"
#include "runtime/system/comm/nccl_budget.h"
#include "runtime/system/comm/network.h"

namespace penstock {
namespace {

constexpr const char* kConnecting = "making the communicators of the run";
const std::string kMeeting = "all ranks, to connect";

// Makes MPI return an error code when an operation on the communicator fails. By default MPI would
// end the process itself.
CommHandle with_errors_returned(CommHandle comm) {
  PENSTOCK_MPI(MPI_Comm_set_errhandler(comm.get(), MPI_ERRORS_RETURN), kConnecting);
  return comm;
}

CommHandle duplicate(MPI_Comm parent) {
  CommHandle comm;
  PENSTOCK_MPI(MPI_Comm_dup(parent, comm.address()), kConnecting);
  return with_errors_returned(std::move(comm));
}

CommHandle split(MPI_Comm parent, int color, int key) {
  CommHandle comm;
  PENSTOCK_MPI(MPI_Comm_split(parent, color, key, comm.address()), kConnecting);
  return with_errors_returned(std::move(comm));
}

// Returns a communicator of those ranks of `parent` that have the same color, in the order of their
// keys. A rank that is alone makes its communicator without the other ranks.
CommHandle part_of(MPI_Comm parent, int color, int key, int size) {
  return size == 1 ? duplicate(MPI_COMM_SELF) : split(parent, color, key);
}

// Returns a communicator of two members. Only these two must call it.
CommHandle pair(MPI_Comm parent, int first, int second, int tag) {
  GroupHandle all;
  GroupHandle both;
  PENSTOCK_MPI(MPI_Comm_group(parent, all.address()), kConnecting);
  const std::array<int, 2> members{first, second};
  PENSTOCK_MPI(MPI_Group_incl(all.get(), 2, members.data(), both.address()), kConnecting);
  CommHandle comm;
  PENSTOCK_MPI(MPI_Comm_create_group(parent, both.get(), tag, comm.address()), kConnecting);
  return with_errors_returned(std::move(comm));
}

void check_grid(const Session& session, const Grid& grid) {
  if (grid.ranks() == session.ranks()) return;
  fail_input(std::to_string(grid.positions) + " ranks per pipeline x " +
             std::to_string(grid.replicas) + " replicas are " + std::to_string(grid.ranks()) +
             " ranks, but " + std::to_string(session.ranks()) +
             " were started: change mpirun -n, or pipeline.stages and pipeline.replicas");
}

// Returns `members` once all of them have met. When MPI makes a communicator it waits inside for
// all members, and this rank cannot poll meanwhile. So the members meet first, in a wait that polls
// and has a time limit.
MPI_Comm after_meeting(MPI_Comm members, Pollers& pollers) {
  RequestHandle request;
  PENSTOCK_MPI(MPI_Ibarrier(members, request.address()), kConnecting);
  int result = MPI_SUCCESS;
  const auto have_met = [&] {
    int done = 0;
    result = MPI_Test(request.address(), &done, MPI_STATUS_IGNORE);
    return done != 0 || result != MPI_SUCCESS;
  };
  pollers.wait_until(have_met, kMeeting);
  PENSTOCK_MPI(result, kConnecting);
  return members;
}

std::unique_ptr<Watch> watch_over(const Session& session, const Waits& waits) {
  if (!waits.are_watched || waits.limit.count() == 0 || session.ranks() == 1) return nullptr;
  Pollers alone(waits.limit);
  (void)after_meeting(MPI_COMM_WORLD, alone);
  return std::make_unique<Watch>(
      session, WatchOrder{.limit = waits.limit, .folder = waits.folder, .say = waits.say});
}

// These are ranks that have a communicator of their own, for small values.
struct Members {
  Members(CommHandle members, const std::string& called, Pollers& pollers)
      : comm(members.get()), name(called), values(std::move(members), called, pollers) {}
  MPI_Comm comm;  // owned by `values`
  std::string name;
  MpiCollective values;
};

// This is side work that is polled while the object exists.
class PolledWork final : public Poller {
 public:
  PolledWork(Pollers& pollers, SideWork& work) : work_(work), entry_(pollers, *this) {}
  void poll() override { work_.while_waiting(); }
  [[nodiscard]] SideWork& work() { return work_; }

 private:
  SideWork& work_;
  PollerEntry entry_;
};

class MpiNetwork final : public Network {
 public:
  MpiNetwork(const Session& session, const Grid& grid, LinkPlan plan, const Waits& waits)
      : watch_(watch_over(session, waits)),
        pollers_(watch_ ? std::chrono::milliseconds(0) : waits.limit, activity_log(), waits.nap),
        grid_(grid),
        plan_(std::move(plan)),
        position_(grid.position_of(session.rank())),
        replica_(grid.replica_of(session.rank())),
        world_(duplicate(after_meeting(MPI_COMM_WORLD, pollers_)), "all ranks", pollers_),
        pipeline_(part_of(world_.comm, replica_, position_, grid.positions),
                  "the ranks of replica " + std::to_string(replica_), pollers_),
        replicas_(part_of(world_.comm, position_, replica_, grid.replicas),
                  "the replicas at position " + std::to_string(position_), pollers_) {}

  [[nodiscard]] Ends connect(std::span<const DirectedEdge> edges, Device& device) override {
    Ends ends;
    ends.send.resize(edges.size());
    ends.receive.resize(edges.size());
    blocks_ = plan_.links == Transport::Nccl ? blocks_for(edges, device) : 0;
    if (links_.get() == MPI_COMM_NULL && plan_.links != Transport::Nccl) {
      links_ = duplicate(after_meeting(pipeline_.comm, pollers_));
    }
    for (size_t e = 0; e < edges.size(); ++e) {
      check(edges[e]);
      const bool sends = edges[e].from_position == position_;
      if (!sends && edges[e].to_position != position_) continue;
      const int tag = edges_made_ + static_cast<int>(e);
      if (sends) {
        ends.send[e] = make_send(edges[e], tag, device);
      } else {
        ends.receive[e] = make_receive(edges[e], tag, device);
      }
    }
    edges_made_ += static_cast<int>(edges.size());
    return ends;
  }

  [[nodiscard]] std::unique_ptr<ReduceGroup> reduce_group(Device& device) override {
    CommHandle comm = duplicate(after_meeting(replicas_.comm, pollers_));
    if (plan_.sums_at(position_) == Transport::Nccl) {
      const int blocks = nccl_budget(fewest_processors(replicas_.values, device), 0, true).sums;
      return nccl_sums(std::move(comm), replicas_.name, blocks, device, pollers_);
    }
    auto group = std::make_unique<MpiReduceGroup>(std::move(comm), replicas_.name,
                                                  device.host_memory(), pollers_);
    if (device.host_addressable()) return group;
    return staged_sums(std::move(group), device, pollers_);
  }

  [[nodiscard]] std::unique_ptr<LateGather> late_gather(size_t mine) override {
    return std::make_unique<MpiLateGather>(duplicate(after_meeting(world_.comm, pollers_)), mine,
                                           world_.values, pollers_);
  }

  [[nodiscard]] std::unique_ptr<Courier> courier() override {
    return std::make_unique<MpiCourier>(duplicate(after_meeting(world_.comm, pollers_)),
                                        activity_log());
  }
  void set_side_work(SideWork* work) override {
    side_work_.reset();
    if (work != nullptr) side_work_.emplace(pollers_, *work);
  }
  void do_side_work() override {
    if (side_work_) side_work_->work().between_ops();
  }
  void wait_until(const std::function<bool()>& done, const std::string& what) override {
    pollers_.wait_until(done, what);
  }

  Collective& world() override { return world_.values; }
  Collective& pipeline() override { return pipeline_.values; }
  Collective& replicas() override { return replicas_.values; }
  [[nodiscard]] int64_t requests_made() const override { return requests_made_; }
  [[nodiscard]] ActivityLog* activity_log() override {
    return watch_ ? &watch_->activity_log() : nullptr;
  }
  [[nodiscard]] std::string description() const override {
    const std::string mpi = "mpi (" + Session::library_version() + ")";
    return plan_.links == Transport::Nccl ? "nccl " + nccl_version() + ", " + mpi : mpi;
  }

 private:
  static constexpr int kPairTag = 1;  // one tag is enough: a pair makes its communicators in order

  void check(const DirectedEdge& edge) const {
    const auto is_position = [&](int p) { return p >= 0 && p < grid_.positions; };
    if (!is_position(edge.from_position) || !is_position(edge.to_position) ||
        edge.from_position == edge.to_position) {
      fail_internal("no edge leads from position " + std::to_string(edge.from_position) + " to " +
                    std::to_string(edge.to_position) + " of a pipeline of " +
                    std::to_string(grid_.positions) + " ranks");
    }
  }

  [[nodiscard]] std::string name_of(const DirectedEdge& edge) const {
    const char* what = edge.direction == Direction::Activation ? "activations" : "gradients";
    const auto rank = [&](int position) {
      return std::to_string(grid_.world_rank(position, replica_));
    };
    return std::string(what) + " of stage " + std::to_string(edge.from_stage) + " to stage " +
           std::to_string(edge.to_stage) + " (rank " + rank(edge.from_position) + " to rank " +
           rank(edge.to_position) + ")";
  }

  [[nodiscard]] EdgeComm comm_of(const DirectedEdge& edge) const {
    return {pair(pipeline_.comm, edge.from_position, edge.to_position, kPairTag), name_of(edge),
            blocks_};
  }

  static int fewest_processors(Collective& members, Device& device) {
    const std::vector<int64_t> all = members.gather_to_all(int64_t{processors_of(device)});
    return static_cast<int>(*std::min_element(all.begin(), all.end()));
  }

  // Returns how many blocks of NCCL's kernels an edge has, the same number on all ranks. Edges of
  // earlier calls of connect() do not count, since they are not under way at the same time: those
  // of tied gradients are used when all messages of the step have been received.
  [[nodiscard]] int blocks_for(std::span<const DirectedEdge> edges, Device& device) {
    std::vector<int> ends(static_cast<size_t>(grid_.positions), 0);
    for (const DirectedEdge& edge : edges) {
      check(edge);
      ++ends[static_cast<size_t>(edge.from_position)];
      ++ends[static_cast<size_t>(edge.to_position)];
    }
    const int most = *std::max_element(ends.begin(), ends.end());
    const bool sums = std::count(plan_.sums.begin(), plan_.sums.end(), Transport::Nccl) > 0;
    return nccl_budget(fewest_processors(pipeline_.values, device), most, sums).edge;
  }

  std::unique_ptr<SendLink> make_send(const DirectedEdge& edge, int tag, Device& device) {
    if (plan_.links == Transport::Nccl) {
      return nccl_send(comm_of(edge), device, edge.window, pollers_);
    }
    Memory& memory = mpi_memory(device);
    const MpiEdge end{links_.get(), edge.to_position, tag, name_of(edge)};
    auto link = std::make_unique<MpiSendLink>(end, memory, pollers_, requests_made_);
    if (device.host_addressable()) return link;
    return staged_send(std::move(link), device, memory, pollers_);
  }

  std::unique_ptr<ReceiveLink> make_receive(const DirectedEdge& edge, int tag, Device& device) {
    if (plan_.links == Transport::Nccl) return nccl_receive(comm_of(edge), device, pollers_);
    const bool direct = device.host_addressable();
    const MpiEdge end{links_.get(), edge.from_position, tag, name_of(edge)};
    auto link = std::make_unique<MpiReceiveLink>(
        end, mpi_memory(device), direct ? Purpose::Activations : Purpose::Communication, pollers_,
        requests_made_);
    if (direct) return link;
    return staged_receive(std::move(link), device, pollers_);
  }

  // Returns the memory in which MPI reads and writes the messages of this device's links.
  Memory& mpi_memory(Device& device) {
    if (device.host_addressable()) return device.memory();
    if (plan_.links != Transport::MpiCuda) return device.host_memory();
    if (!shareable_) shareable_ = std::make_unique<Memory>(shareable_memory_source());
    return *shareable_;
  }

  std::unique_ptr<Watch> watch_;  // null: every wait has a limit of its own
  Pollers pollers_;               // declared before all members that wait by them
  Grid grid_;
  LinkPlan plan_;
  int position_;
  int replica_;
  Members world_;
  Members pipeline_;
  Members replicas_;
  std::optional<PolledWork> side_work_;
  CommHandle links_;                   // of this pipeline's ranks; null before the first edge
  int edges_made_ = 0;                 // edges connected so far, the same on all of these ranks
  int blocks_ = 0;                     // blocks of NCCL's kernels for an edge being connected
  std::unique_ptr<Memory> shareable_;  // GPU memory for an MPI that reads it
  int64_t requests_made_ = 0;
};

}  // namespace

std::unique_ptr<Network> make_mpi_network(const Session& session, const Grid& grid,
                                          const LinkPlan& plan, const Waits& waits) {
  check_grid(session, grid);
  return std::make_unique<MpiNetwork>(session, grid, plan, waits);
}

}  // namespace penstock

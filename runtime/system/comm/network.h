// runtime/system/comm/network.h -- everything that passes between ranks, as small interfaces: links
// between stages, sums over replicas, values for a group, bytes in the background.
//
// Semantics, which the schedule relies on:
//   * SendLink::send posts and never waits; ReceiveLink::receive waits.
//   * Messages of one directed edge arrive in the order they were sent (FIFO); every edge has a tag
//     of its own, by NCCL a communicator, so two edges can never take each other's messages, not
//     even between the same two ranks.
//   * MPI moves nothing unless it is called: progress() is called between the ops of a long
//     computation. A wait on any link or group, and of the host for its GPU, lets all the others
//     move too, and ends with an error when nothing comes within a limit.
//   * On an accelerator the host waits for the device only in hand_over() and drain();
//     tensors are taken from and returned to the device's memory at fixed points of the program,
//     not when a transfer happens to end, so that a step finds its tensors where the last one had
//     them.
//   * All communicators, and all requests of links, are made before or in the first steps; none is
//     made later.
// Every failure throws Error(Peer) naming the call, the library's words, the edge and the peer.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "kernels/tensor.h"
#include "runtime/system/comm/grid.h"
#include "runtime/system/comm/link_plan.h"
#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/watch/watch.h"

namespace penstock {

// What a tensor of a message looks like.
struct TensorSpec {
  Shape shape;
  DType dtype = DType::F32;
  bool operator==(const TensorSpec&) const = default;
  [[nodiscard]] size_t size_bytes() const {
    return static_cast<size_t>(shape.elements()) * size_of(dtype);
  }
};

// The sending end of one directed edge.
class SendLink {
 public:
  virtual ~SendLink() = default;
  // Posts one message, a tuple of tensors, and returns. The link holds references until the bytes
  // have left; the caller must not write to the tensors any more.
  virtual void send(std::span<const Tensor> message) = 0;
  virtual void progress() = 0;  // moves what can move now; never waits
  // Called at the end of a program. Returns when what was sent needs nothing from this rank any
  // more but calls of MPI: the rank may now be busy for long without calling progress(). The
  // device's memory of what was sent is released; with NCCL all later computation waits until it
  // has been received, so this is never called between instructions
  // (tests/unit/planning/schedule/transport_test.cpp). May wait for the device, never for another
  // rank.
  virtual void hand_over() = 0;
  virtual void drain() = 0;  // waits until everything sent has left
  // Keeps memory ready for `count` more messages of these tensors to be under way at once.
  virtual void reserve(std::span<const TensorSpec> message, int count) = 0;
};

// The receiving end of one directed edge.
class ReceiveLink {
 public:
  virtual ~ReceiveLink() = default;
  // Posts the receive of the next message into new tensors (Purpose::Activations), so that it can
  // arrive during computation. The sizes must be what the sender sends, else receive() throws.
  virtual void expect(std::span<const TensorSpec> specs) = 0;
  [[nodiscard]] virtual int expected() const = 0;  // posted and not yet received
  // Waits for the oldest expected message and writes it to `message`, one Tensor per spec.
  virtual void receive(std::span<Tensor> message) = 0;
  virtual void progress() = 0;  // moves what can move now; never waits
};

// Sums gradients over the ranks that hold the same stage.
class ReduceGroup {
 public:
  virtual ~ReduceGroup() = default;
  [[nodiscard]] virtual int size() const = 0;
  // Starts summing `buffer` (fp32, 1-d, same elements on all members, fixed for the run) in place;
  // all members get the same bits. All members start the same buffers in the same order. The buffer
  // must not be touched until finish().
  virtual void start(const Tensor& buffer) = 0;
  // The two halves of start(), a reduce-scatter and an all-gather, for members of which each keeps
  // a part of the sums: member r has elements [cuts[r], cuts[r + 1]) of such a buffer, with the
  // same cuts on all members and for the run, the first 0, the last its size. scatter() starts
  // summing: each member gets the sum of its own elements, with the bits of start(); its other
  // elements are then undefined. gather() starts sending each member's own elements to all, in
  // place.
  virtual void scatter(const Tensor& buffer, std::span<const int64_t> cuts) = 0;
  virtual void gather(const Tensor& buffer, std::span<const int64_t> cuts) = 0;
  virtual void progress() = 0;  // moves what can move now; never waits
  // Waits for everything started with this buffer, and perhaps for more.
  virtual void wait(const Tensor& /*buffer*/) { finish(); }
  virtual void finish() = 0;  // waits for everything started
};

// Small host-side values between the ranks of one group. Not for tensors. All but rank(), size(),
// give() and take() are collective: every member makes the same calls in the same order, and each
// returns when this member has its result.
class Collective {
 public:
  virtual ~Collective() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  virtual void barrier() = 0;
  virtual void sum(std::span<double> values) = 0;  // in place, same bits everywhere
  // Writes to `all` on rank 0 the members' values one after another, in rank order: counts[r] of
  // them come from rank r. Only rank 0 reads `counts` and writes `all`, which holds their total.
  // Takes no memory.
  virtual void gather(std::span<const double> mine, std::span<const int> counts,
                      std::span<double> all) = 0;
  // The members' values one after another, in rank order; lengths may differ. `all` must hold the
  // total.
  virtual void gather_to_all(std::span<const double> mine, std::span<double> all) = 0;
  [[nodiscard]] virtual std::vector<int64_t> gather_to_all(int64_t mine) = 0;
  // Everyone's text in rank order at rank 0; elsewhere empty.
  [[nodiscard]] virtual std::vector<std::string> gather_text(const std::string& mine) = 0;
  // Returns the text of `root` on all members.
  [[nodiscard]] virtual std::string broadcast(const std::string& text, int root) = 0;
  virtual void broadcast(std::span<double> values, int root) = 0;  // in place, as many everywhere
  // Send bytes to another member, which takes as many. take() returns when they have come, give()
  // when they are under way.
  virtual void give(std::span<const std::byte> bytes, int to) = 0;
  virtual void take(std::span<std::byte> bytes, int from) = 0;
};

// An all-gather of numbers over the world in two halves: work between them need not wait. Both
// halves are collective over all ranks.
class LateGather {
 public:
  virtual ~LateGather() = default;
  // Copies `mine`, as many numbers as late_gather() was told, posts them and returns. A second
  // start() needs a finish() before it.
  virtual void start(std::span<const double> mine) = 0;
  // Waits for the numbers of all ranks, and returns them one rank after another; valid until the
  // next start().
  [[nodiscard]] virtual std::span<const double> finish() = 0;
};

// Carries bytes from the memory of one rank to that of another, while both do other things. The
// messages of two ranks arrive in the order in which they were sent.
class Courier {
 public:
  virtual ~Courier() = default;
  // Post one message and return. The caller keeps the bytes in place until the message has ended;
  // the receiver expects as many as are sent. `to` and `from` are ranks of the world.
  virtual void send(std::span<const std::byte> bytes, int to) = 0;
  virtual void receive(std::span<std::byte> bytes, int from) = 0;
  virtual void progress() = 0;  // moves what can move now, and updates the counts; never waits
  // The numbers of messages under way at the last progress().
  [[nodiscard]] virtual size_t sends_under_way() const = 0;
  [[nodiscard]] virtual size_t receives_under_way() const = 0;
};

// Work of a rank besides its step.
class SideWork {
 public:
  virtual ~SideWork() = default;
  // Both do a little and return: while_waiting() is called whenever the rank waits for anything,
  // between_ops() between two ops, which wait for it.
  virtual void while_waiting() = 0;
  virtual void between_ops() = 0;
};

enum class Direction : uint8_t { Activation, Gradient };

// One direction of an edge (runtime/planning/schedule/edges.h): what passes from one stage to
// another of the same replica.
struct DirectedEdge {
  int from_stage = 0, to_stage = 0;
  int from_position = 0, to_position = 0;  // ranks of the pipeline; different
  Direction direction = Direction::Activation;
  // With NCCL, which does not copy what it sends, the link holds the tensors of at most so many
  // messages: before it posts another one the device's computing (not the host) waits until the
  // oldest has left. The schedule says which number cannot deadlock (schedule/proof/window.h). MPI
  // takes a message over at once, and does not look at this.
  int window = 2;
};

// Makes links, groups of sums and the rest; the network and the device must outlive them. A call
// that makes something is collective over the ranks concerned; all ranks make such calls in the
// same order.
class Network {
 public:
  virtual ~Network() = default;
  // The ends of `edges` (the same list on every rank) that this rank holds; entry e of the result
  // is null where this rank is not that end.
  struct Ends {
    std::vector<std::unique_ptr<SendLink>> send;
    std::vector<std::unique_ptr<ReceiveLink>> receive;

    Ends() = default;
    Ends(Ends&&) = default;
    Ends& operator=(Ends&& other) noexcept {
      send.swap(other.send);
      receive.swap(other.receive);
      return *this;
    }
    // The ends go edge by edge: leaving a communicator of NCCL is collective, too.
    ~Ends() {
      for (size_t e = 0; e < send.size(); ++e) {
        send[e].reset();
        receive[e].reset();
      }
    }
  };
  [[nodiscard]] virtual Ends connect(std::span<const DirectedEdge> edges, Device& device) = 0;
  // The group that sums gradients over the ranks at this position, in replica order.
  [[nodiscard]] virtual std::unique_ptr<ReduceGroup> reduce_group(Device& device) = 0;
  virtual Collective& world() = 0;     // every rank
  virtual Collective& pipeline() = 0;  // the ranks of this replica, in position order
  virtual Collective& replicas() = 0;  // the ranks at this position, in replica order
  // `mine`: how many numbers this rank brings each time. Null: this network has none.
  [[nodiscard]] virtual std::unique_ptr<LateGather> late_gather(size_t /*mine*/) { return nullptr; }
  // Collective over the world. Null: this network has none.
  [[nodiscard]] virtual std::unique_ptr<Courier> courier() { return nullptr; }
  // From now on `work` is done whenever this rank waits, and by do_side_work(), which the computing
  // code calls between ops. It replaces earlier work; null: nothing is done. A network in which
  // nobody waits never does the work.
  virtual void set_side_work(SideWork* /*work*/) {}
  virtual void do_side_work() {}
  // Waits until `done()` is true; `what` names in errors what is waited for. All else goes on
  // meanwhile.
  virtual void wait_until(const std::function<bool()>& done, const std::string& /*what*/) {
    while (!done()) {
    }
  }
  // Persistent requests made so far by all links; flat in the steady state.
  [[nodiscard]] virtual int64_t requests_made() const = 0;
  [[nodiscard]] virtual std::string description() const = 0;  // "mpi (Open MPI 4.1.4)"
  // The log to which the main thread of this rank writes what it does; null: nobody reads it.
  [[nodiscard]] virtual ActivityLog* activity_log() { return nullptr; }
};

// Longer than the slowest step: a wait that has seen nothing for this time never will.
inline constexpr std::chrono::minutes kWaitLimit{30};

// How ranks wait, and for how long.
struct Waits {
  std::chrono::milliseconds limit = kWaitLimit;  // zero: waits go on for ever
  // True: a Watch looks at all ranks, and ends the job when none has gone on for the limit. False:
  // each wait ends by itself, by Error(Peer), however busy the others are.
  bool are_watched = false;
  // How long each waiting rank sleeps between two polls, where it would otherwise take the time of
  // ranks that compute; zero: it only gives way.
  std::chrono::microseconds nap = {};
  std::string folder = {};  // for a Watch's hang-<time>.json; empty: none is written
  // Called with a Watch's report right before the job ends.
  std::function<void(const HangReport&)> say = nullptr;
};

// `session` must outlive the network; `plan` and `waits` are the same on every rank. Throws
// Error(Input) when grid.ranks() != session.ranks().
[[nodiscard]] std::unique_ptr<Network> make_mpi_network(const Session& session, const Grid& grid,
                                                        const LinkPlan& plan = {},
                                                        const Waits& waits = {});

}  // namespace penstock

// runtime/planning/replay/step_walk.h -- StepWalk: the discrete-event simulation that replay_step()
// (replay_step.h) runs: it computes when each rank of a job runs each instruction of a step.
//
// Each rank has its own clock. It runs through its program by itself until it needs a message that
// has not arrived; then it waits and another rank goes on. Messages through shared network cards
// wait in one queue, ordered by time. When every rank waits, the earliest entry of the queue takes
// its turn. None can come before it any more, since waiting ranks are woken only by this or later
// entries. A message passes a card in slices, and its next slice is queued when the one before is
// through, so messages that are under way at the same time share a card evenly. Used only inside
// runtime/planning/replay.
//
// A "position" is the number of a rank within its pipeline. Only the distinct replicas are walked
// through (Job::distinct_replicas()), and ranks are numbered replica by replica: rank = replica x
// (ranks of a pipeline) + position. Times are in seconds from the beginning of the step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

#include "runtime/planning/replay/group_sums.h"
#include "runtime/planning/replay/job.h"
#include "runtime/planning/replay/noise.h"
#include "runtime/planning/replay/ports.h"
#include "runtime/planning/replay/rank_program.h"
#include "runtime/planning/replay/replay_step.h"

namespace penstock {

class StepWalk {
 public:
  // `job` must have passed check_job() (job.h) and outlive this. `step` selects the jitter.
  StepWalk(const Job& job, uint64_t step);

  // Runs the whole simulation. May be called once. Throws std::invalid_argument where the schedule
  // deadlocks.
  [[nodiscard]] ReplayedStep run();

 private:
  struct Rank {
    double clock = 0;  // end of its last instruction
    double owed = 0;   // seconds that it must still spend on copying the bytes of sums
    int next = 0;      // the index of its next instruction
  };
  // The messages from one stage to another, in one replica.
  struct Wire {
    double free_at = 0;            // when the last message sent so far is through
    int sent = 0, received = 0;    // how many messages
    int waiting = -1;              // the rank that waits to send (TransportRules); -1: none
    bool moves = false;            // whether a Transfer of this wire is under way
    std::vector<int> queued = {};  // transfers of this wire that wait for it, as indices
  };
  // A message that passes shared cards.
  struct Transfer {
    const RankStep* step = nullptr;  // the step that sends it
    int replica = 0;
    // When it may leave; its bytes that are still to move; the bytes of a slice.
    double ready = 0, left = 0, slice = 0;
  };
  // An entry of the queue: the next slice of a transfer, of the sum of a stage's gradients over
  // replicas, or of a stage's updated weights.
  struct Turn {
    double time = 0;
    int64_t place = 0;  // the order of entries of the same time
    // Either an index in transfers_ or a stage; the other of the two is -1.
    int transfer = -1, stage = -1;
    bool of_weights = false;  // with `stage`: its updated weights, not the sum of its gradients
    bool operator>(const Turn& other) const {
      return time != other.time ? time > other.time : place > other.place;
    }
  };
  // The value in arrivals_ of a message that is not sent yet. It is -2 - r instead if rank r waits
  // for the message.
  static constexpr double kNotSent = -1;

  [[nodiscard]] int position_of(int rank) const { return rank % positions_; }
  [[nodiscard]] int replica_of(int rank) const { return rank / positions_; }
  [[nodiscard]] bool windowed() const {
    return job_.rules.window != TransportRules::kSendsNeverWait;
  }
  [[nodiscard]] Wire& wire_of(const RankStep& step, int replica);
  [[nodiscard]] double& arrival_of(const RankStep& step, int replica);
  [[nodiscard]] double& received_at(const RankStep& step, int replica, int message);
  static void wait(Rank& rank, double until);

  // Runs rank `number` until it must wait or its program ends.
  void advance(int number);
  // The next four run one instruction of rank `number`. They return false, and leave the rank at
  // that instruction, where it must wait until something wakes it.
  [[nodiscard]] bool execute(int number);
  [[nodiscard]] bool send(int number, const RankStep& step);
  [[nodiscard]] bool receive(int number, const RankStep& step);
  [[nodiscard]] bool compute(int number, const RankStep& step);
  // The seconds of a Compute of rank `number`, with noise.
  [[nodiscard]] double seconds_of_step(int number, const RankStep& step) const;
  // When a message without shared cards, ready to leave at `ready`, has left its link.
  [[nodiscard]] double through(const RankStep& step, int replica, double ready);
  // Notes when the message arrives, and wakes the rank that waits for it.
  void arrive(const RankStep& step, int replica, double when);
  // Makes the message of a Send a Transfer, and queues its first slice.
  void begin_transfer(const RankStep& step, int replica, double ready);
  // Moves the next slice of transfer `number`.
  void move_slice(int number, double now);
  // Queues the first slice of the late weights of the first stage >= `stage` at this position.
  void begin_weights(int stage, int position, double now);
  // Moves the next slice of a stage's late weights; after the last one, wakes ranks that wait.
  void send_weights(int stage, double now);
  void take_turn(const Turn& turn);
  void queue(Turn turn);
  // The result, after all sums and updates.
  [[nodiscard]] ReplayedStep ended();

  const Job& job_;
  const int positions_;
  const RankPrograms programs_;
  const Noise noise_;
  Ports ports_;
  GroupSums sums_;
  std::vector<Rank> ranks_;       // replica by replica
  std::vector<Wire> wires_;       // replica by replica
  std::vector<double> arrivals_;  // by replica and RankStep::event: when the message arrives
  std::vector<double> received_;  // when each wire's last TransportRules::window were received
  std::vector<int> runnable_;     // the ranks that do not wait
  std::vector<std::vector<int>> want_weights_;  // by stage: the ranks that wait for its weights
  std::vector<Transfer> transfers_;
  std::vector<int> spare_transfers_;  // indices in transfers_ that may be used again
  int64_t turns_queued_ = 0;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  double last_compute_ = 0;
};

}  // namespace penstock

// runtime/planning/replay/step_walk.h -- StepWalk: the discrete-event simulation behind
// replay_step(). Private to runtime/planning/replay.
//
// A rank runs ahead until it needs a message that has not arrived. Transfers through shared cards
// wait in one queue, by time. When no rank can run ahead, the earliest transfer goes: none can come
// before it any more, since ranks that wait are woken only by this or later transfers. A message
// passes in slices, each queued when the one before is through, so messages that pass a card at the
// same time share it evenly.
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
  // `job` is checked and must outlive this.
  StepWalk(const Job& job, uint64_t step);

  // Called once. Throws std::invalid_argument where the schedule gets stuck.
  [[nodiscard]] ReplayedStep run();

 private:
  struct Rank {
    double clock = 0;  // end of its last instruction
    double owed = 0;   // time that it must still spend on moving the bytes of sums
    int next = 0;      // next instruction
  };
  // The messages from one stage to another, of one replica.
  struct Wire {
    double free_at = 0;  // when the last one sent is through
    int sent = 0, received = 0;
    int waiting = -1;              // the rank that waits for room in the window
    bool moves = false;            // a transfer through shared cards is under way
    std::vector<int> queued = {};  // transfers behind that one
  };
  // A message through shared cards.
  struct Transfer {
    const RankStep* step = nullptr;  // the step that sends it
    int replica = 0;
    double ready = 0, left = 0, slice = 0;  // left, slice: bytes
  };
  // A transfer whose next slice is due or, with stage >= 0, a group whose next bucket begins or the
  // next slice of whose weights is due.
  struct Turn {
    double time = 0;
    int64_t place = 0;  // order among turns of the same time
    int transfer = -1, stage = -1;
    bool of_weights = false;
    bool operator>(const Turn& other) const {
      return time != other.time ? time > other.time : place > other.place;
    }
  };
  // The arrival of a message that was not sent; -2 - r: and rank r waits for it.
  static constexpr double kNotSent = -1;

  [[nodiscard]] int position_of(int rank) const { return rank % positions_; }
  [[nodiscard]] int replica_of(int rank) const { return rank / positions_; }
  [[nodiscard]] bool windowed() const {
    return job_.rules.window != TransportRules::kSendsNeverWait;
  }
  [[nodiscard]] const LinkTimes& link_of(const WireEnds& ends, int replica) const;
  [[nodiscard]] Wire& wire_of(const RankStep& step, int replica);
  [[nodiscard]] double& arrival_of(const RankStep& step, int replica);
  [[nodiscard]] double& received_at(const RankStep& step, int replica, int message);
  static void wait(Rank& rank, double until);

  void advance(int number);
  // These return false where the rank must wait until something wakes it.
  [[nodiscard]] bool execute(int number);
  [[nodiscard]] bool send(int number, const RankStep& step);
  [[nodiscard]] bool receive(int number, const RankStep& step);
  [[nodiscard]] bool compute(int number, const RankStep& step);
  [[nodiscard]] double through(const RankStep& step, int replica, double ready);
  void arrive(const RankStep& step, int replica, double when);
  void begin_transfer(const RankStep& step, int replica, double ready);
  void move_slice(int number, double now);
  // Starts the weights of the first stage from this one on that is on the same rank.
  void begin_weights(int stage, int position, double now);
  void send_weights(int stage, double now);
  void take_turn(const Turn& turn);
  void queue(Turn turn);
  [[nodiscard]] ReplayedStep ended();

  const Job& job_;
  const int positions_;
  const RankPrograms programs_;
  const Noise noise_;
  Ports ports_;
  GroupSums sums_;
  std::vector<Rank> ranks_;       // replica by replica
  std::vector<Wire> wires_;       // replica by replica
  std::vector<double> arrivals_;  // of messages, replica by replica
  std::vector<double> received_;  // receive times of each wire's last `window` messages
  std::vector<int> runnable_;
  std::vector<std::vector<int>> want_weights_;  // by stage: the ranks that wait for them
  std::vector<Transfer> transfers_;
  std::vector<int> spare_transfers_;
  int64_t turns_queued_ = 0;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  double last_compute_ = 0;
};

}  // namespace penstock

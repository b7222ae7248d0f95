#include "runtime/planning/replay/step_walk.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/planning/schedule/well_formed.h"

namespace penstock {

StepWalk::StepWalk(const Job& job, uint64_t step)
    : job_(job),
      positions_(job.schedule.ranks),
      programs_(job),
      noise_(job, step),
      ports_(job),
      sums_(job),
      ranks_(static_cast<size_t>(job.distinct_replicas() * job.schedule.ranks)),
      want_weights_(static_cast<size_t>(job.schedule.stages)) {
  const auto replicas = static_cast<size_t>(job.distinct_replicas());
  wires_.resize(replicas * programs_.wires.size());
  arrivals_.assign(replicas * programs_.messages, kNotSent);
  if (windowed()) received_.resize(wires_.size() * static_cast<size_t>(job.rules.window));
}

ReplayedStep StepWalk::run() {
  for (int position = 0; position < positions_; ++position) begin_weights(0, position, 0);
  for (auto rank = static_cast<int>(std::ssize(ranks_)) - 1; rank >= 0; --rank) {
    runnable_.push_back(rank);
  }
  while (true) {
    while (!runnable_.empty()) {
      const int rank = runnable_.back();
      runnable_.pop_back();
      advance(rank);
    }
    if (turns_.empty()) return ended();
    const Turn turn = turns_.top();
    turns_.pop();
    take_turn(turn);
  }
}

void StepWalk::queue(Turn turn) {
  turn.place = turns_queued_++;
  turns_.push(turn);
}

void StepWalk::begin_weights(int stage, int position, double now) {
  for (; stage < job_.schedule.stages; ++stage) {
    if (job_.schedule.rank_of_stage[static_cast<size_t>(stage)] != position) continue;
    if (sums_.are_late(stage)) return queue({.time = now, .stage = stage, .of_weights = true});
  }
}

void StepWalk::send_weights(int stage, double now) {
  if (const auto next = sums_.send_weights(stage, now, ports_)) {
    return queue({.time = *next, .stage = stage, .of_weights = true});
  }
  for (const int rank : std::exchange(want_weights_[static_cast<size_t>(stage)], {})) {
    runnable_.push_back(rank);
  }
  begin_weights(stage + 1, job_.schedule.rank_of_stage[static_cast<size_t>(stage)],
                sums_.arrival(stage));
}

void StepWalk::take_turn(const Turn& turn) {
  if (turn.of_weights) {
    send_weights(turn.stage, turn.time);
  } else if (turn.stage < 0) {
    move_slice(turn.transfer, turn.time);
  } else if (const auto next = sums_.advance(turn.stage, turn.time, ports_)) {
    queue({.time = *next, .stage = turn.stage});
  }
}

void StepWalk::begin_transfer(const RankStep& step, int replica, double ready) {
  // A message has at most eight slices, so that the replay of a large job does not take long. A
  // slice is no smaller than what hosts send at once.
  constexpr double kSlices = 8;
  constexpr double kLeast = 65536;
  const double bytes = programs_.wires[static_cast<size_t>(step.wire)].bytes;
  if (spare_transfers_.empty()) {
    spare_transfers_.push_back(static_cast<int>(transfers_.size()));
    transfers_.emplace_back();
  }
  const int number = spare_transfers_.back();
  spare_transfers_.pop_back();
  transfers_[static_cast<size_t>(number)] = {.step = &step,
                                             .replica = replica,
                                             .ready = ready,
                                             .left = bytes,
                                             .slice = std::max(kLeast, bytes / kSlices)};
  Wire& wire = wire_of(step, replica);
  if (wire.moves) return wire.queued.push_back(number);
  wire.moves = true;
  queue({.time = ready, .transfer = number});
}

void StepWalk::move_slice(int number, double now) {
  Transfer& transfer = transfers_[static_cast<size_t>(number)];
  const int replica = transfer.replica;
  const RankStep& step = *transfer.step;
  const WireEnds& ends = programs_.wires[static_cast<size_t>(step.wire)];
  const double bytes = std::min(transfer.left, transfer.slice);
  const int from = ports_.of(ends.from, replica);
  const int to = ports_.of(ends.to, replica);
  const LinkTimes link = job_.link(ends.from, ends.to, replica);
  const double end =
      std::max(now + bytes * link.seconds_per_byte, ports_.carry(from, to, now, bytes));
  transfer.left -= bytes;
  if (transfer.left > 0) return queue({.time = end, .transfer = number});
  arrive(step, replica, end + link.latency);
  spare_transfers_.push_back(number);
  Wire& wire = wire_of(step, replica);
  wire.moves = !wire.queued.empty();
  if (!wire.moves) return;
  const int next = wire.queued.front();
  wire.queued.erase(wire.queued.begin());
  queue({.time = std::max(end, transfers_[static_cast<size_t>(next)].ready), .transfer = next});
}

void StepWalk::advance(int number) {
  Rank& rank = ranks_[static_cast<size_t>(number)];
  const auto& program = programs_.program[static_cast<size_t>(position_of(number))];
  while (rank.next < std::ssize(program) && execute(number)) ++rank.next;
}

bool StepWalk::execute(int number) {
  const Rank& rank = ranks_[static_cast<size_t>(number)];
  const RankStep& step =
      programs_.program[static_cast<size_t>(position_of(number))][static_cast<size_t>(rank.next)];
  switch (step.kind) {
    case RankStep::Kind::Send:
      return send(number, step);
    case RankStep::Kind::Receive:
      return receive(number, step);
    case RankStep::Kind::Compute:
      return compute(number, step);
    case RankStep::Kind::Nothing:
      return true;
  }
  return true;
}

StepWalk::Wire& StepWalk::wire_of(const RankStep& step, int replica) {
  return wires_[static_cast<size_t>(replica) * programs_.wires.size() +
                static_cast<size_t>(step.wire)];
}

double& StepWalk::arrival_of(const RankStep& step, int replica) {
  return arrivals_[static_cast<size_t>(replica) * programs_.messages +
                   static_cast<size_t>(step.event)];
}

double& StepWalk::received_at(const RankStep& step, int replica, int message) {
  const auto window = static_cast<size_t>(job_.rules.window);
  const size_t wire =
      static_cast<size_t>(replica) * programs_.wires.size() + static_cast<size_t>(step.wire);
  return received_[wire * window + static_cast<size_t>(message) % window];
}

void StepWalk::wait(Rank& rank, double until) {
  if (until <= rank.clock) return;
  rank.owed = std::max(0.0, rank.owed - (until - rank.clock));
  rank.clock = until;
}

bool StepWalk::send(int number, const RankStep& step) {
  Rank& rank = ranks_[static_cast<size_t>(number)];
  const int replica = replica_of(number);
  Wire& wire = wire_of(step, replica);
  if (windowed() && wire.sent - wire.received >= job_.rules.window) {
    wire.waiting = number;
    return false;
  }
  if (windowed() && wire.sent >= job_.rules.window) {
    wait(rank, received_at(step, replica, wire.sent));
  }
  const WireEnds& ends = programs_.wires[static_cast<size_t>(step.wire)];
  const LinkTimes link = job_.link(ends.from, ends.to, replica);
  const bool apart = job_.node_of(ends.from, replica) != job_.node_of(ends.to, replica);
  const bool shares = apart && !link.receiver_copies && ports_.of(ends.from, replica) >= 0;
  ++wire.sent;
  rank.clock += link.overhead;
  if (shares) {
    begin_transfer(step, replica, rank.clock);
  } else {
    arrive(step, replica, through(step, replica, rank.clock) + link.latency);
  }
  return true;
}

void StepWalk::arrive(const RankStep& step, int replica, double when) {
  double& arrival = arrival_of(step, replica);
  const int waiting = arrival <= kNotSent - 1 ? static_cast<int>(kNotSent - 1 - arrival) : -1;
  arrival = when;
  if (waiting >= 0) runnable_.push_back(waiting);
}

// Returns when a message has come through if it can leave at `ready` and shares no network card.
double StepWalk::through(const RankStep& step, int replica, double ready) {
  const WireEnds& ends = programs_.wires[static_cast<size_t>(step.wire)];
  const LinkTimes link = job_.link(ends.from, ends.to, replica);
  if (link.receiver_copies) return ready;
  Wire& wire = wire_of(step, replica);
  return wire.free_at = std::max(ready, wire.free_at) + ends.bytes * link.seconds_per_byte;
}

bool StepWalk::receive(int number, const RankStep& step) {
  Rank& rank = ranks_[static_cast<size_t>(number)];
  const int replica = replica_of(number);
  double& arrival = arrival_of(step, replica);
  if (arrival < 0) {
    arrival = kNotSent - 1 - number;
    return false;
  }
  const WireEnds& ends = programs_.wires[static_cast<size_t>(step.wire)];
  const LinkTimes link = job_.link(ends.from, ends.to, replica);
  wait(rank, arrival);
  rank.clock += link.overhead;
  if (link.receiver_copies) rank.clock += ends.bytes * link.seconds_per_byte;
  if (!windowed()) return true;
  Wire& wire = wire_of(step, replica);
  received_at(step, replica, wire.received++) = rank.clock;
  if (wire.waiting >= 0) runnable_.push_back(std::exchange(wire.waiting, -1));
  return true;
}

bool StepWalk::compute(int number, const RankStep& step) {
  Rank& rank = ranks_[static_cast<size_t>(number)];
  const bool wants_weights = step.is_first_forward && sums_.are_late(step.stage);
  if (wants_weights && sums_.arrival(step.stage) < 0) {
    want_weights_[static_cast<size_t>(step.stage)].push_back(number);
    return false;
  }
  const double start = rank.clock;
  rank.clock += seconds_of_step(number, step);
  if (wants_weights) wait(rank, sums_.arrival(step.stage));
  last_compute_ = std::max(last_compute_, rank.clock);
  if (!step.completes_gradients) return true;
  rank.owed += sums_.owed(step.stage);
  if (const auto begin = sums_.completed(step.stage, start, rank.clock)) {
    queue({.time = *begin, .stage = step.stage});
  }
  return true;
}

double StepWalk::seconds_of_step(int number, const RankStep& step) const {
  const double factor = noise_.factor(number, ranks_[static_cast<size_t>(number)].next);
  if (job_.stage_of_replica.empty()) return factor * step.seconds;
  const std::vector<StageTimes>& stages =
      job_.stage_of_replica[static_cast<size_t>(replica_of(number))];
  return factor * seconds_of(stages[static_cast<size_t>(step.stage)], step.op);
}

ReplayedStep StepWalk::ended() {
  ReplayedStep step{.last_compute_s = last_compute_};
  double all_there = sums_.end();
  for (int number = 0; number < std::ssize(ranks_); ++number) {
    const Rank& rank = ranks_[static_cast<size_t>(number)];
    const int position = position_of(number);
    if (rank.next < std::ssize(programs_.program[static_cast<size_t>(position)])) {
      throw std::invalid_argument("this schedule cannot run: it gets stuck at " +
                                  where(job_.schedule, position, rank.next));
    }
    all_there = std::max(all_there, rank.clock + rank.owed);
  }
  double update = 0;
  for (const double seconds : job_.costs.update) update = std::max(update, seconds);
  step.step_s = sums_.gather(all_there + update, ports_);
  step.busiest_card_s = ports_.busiest();
  return step;
}

}  // namespace penstock

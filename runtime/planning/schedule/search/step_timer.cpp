// One pass over the programs, each rank as far as it comes at a time.
#include "runtime/planning/schedule/search/step_timer.h"

#include <algorithm>

namespace penstock {

StepTimer::StepTimer(const StepWork& work)
    : work_(work),
      rank_(work.ranks),
      there_(2 * static_cast<size_t>(work.stages) * work.micro_batches),
      place_(there_.size()),
      link_free_(2 * work.hop.size()),
      by_message_(work.ranks) {
  queue_.reserve(work.ranks);
}

double StepTimer::makespan(const Programs& programs) {
  std::fill(there_.begin(), there_.end(), kNever);
  std::fill(link_free_.begin(), link_free_.end(), 0.0);
  queue_.clear();
  for (int rank = work_.ranks - 1; rank >= 0; --rank) {
    rank_[rank] = {.queued = true};
    by_message_[rank].resize(programs[rank].size());
    queue_.push_back(rank);
  }
  while (!queue_.empty()) {
    const int rank = queue_.back();
    queue_.pop_back();
    rank_[rank].queued = false;
    if (!advance(rank, programs)) return kNever;
  }
  double end = 0;
  for (int rank = 0; rank < work_.ranks; ++rank) {
    if (rank_[rank].next < static_cast<int>(programs[rank].size())) return kNever;
    end = std::max(end, rank_[rank].clock);
  }
  return end;
}

// Runs the rank until it waits or ends. Returns false if it holds more than its limit.
bool StepTimer::advance(int rank, const Programs& programs) {
  Rank& state = rank_[rank];
  const auto& program = programs[rank];
  for (; state.next < static_cast<int>(program.size()); ++state.next) {
    const Instruction& instruction = program[state.next];
    const int event_awaited = awaited(instruction);
    if (event_awaited >= 0 && there_[event_awaited] == kNever) {
      state.waits_for = event_awaited;
      return true;
    }
    const StageWork& work = work_.stage[instruction.stage];
    const bool backward = instruction.op == Op::Backward || instruction.op == Op::BackwardInput;
    const double free = state.clock + (backward ? work.recompute : 0);
    // A weight half needs the input half itself, not the message that it sends.
    const bool by_message =
        instruction.op != Op::BackwardWeight && event_awaited >= 0 && there_[event_awaited] > free;
    const double begin = by_message ? there_[event_awaited] : free;
    by_message_[rank][state.next] = by_message;
    switch (instruction.op) {
      case Op::Forward:
        state.clock = begin + work.forward;
        break;
      case Op::BackwardInput:
        state.clock = begin + work.input;
        break;
      case Op::BackwardWeight:
        state.clock = begin + work.weight;
        break;
      default:
        state.clock = begin + work.whole;
    }
    if (!take_bytes(rank, instruction)) return false;
    if (instruction.op != Op::BackwardWeight) finish(rank, instruction);
  }
  state.waits_for = -1;
  return true;
}

// Returns the event that an instruction needs. A weight half needs the input half of its own rank.
int StepTimer::awaited(const Instruction& instruction) const {
  const auto [op, stage, j, peer] = instruction;
  if (op == Op::Forward) return stage > 0 ? event(false, stage - 1, j) : -1;
  if (op == Op::BackwardWeight) return event(true, stage, j);
  return stage + 1 < work_.stages ? event(true, stage + 1, j) : event(false, stage, j);
}

// Notes when the result is where it is needed, and wakes the rank that waits for it.
void StepTimer::finish(int rank, const Instruction& instruction) {
  const auto [op, stage, j, peer] = instruction;
  const bool backward = op != Op::Forward;
  const int caused = event(backward, stage, j);
  const int to = backward ? stage - 1 : stage + 1;
  place_[caused] = {rank, rank_[rank].next};
  there_[caused] = rank_[rank].clock;
  if (to < 0 || to >= work_.stages) return;
  const int boundary = std::min(stage, to);
  const Hop& hop = work_.hop[boundary];
  if (hop.local) return;
  double& link_free = link_free_[boundary + (backward ? work_.hop.size() : 0)];
  link_free = std::max(link_free, rank_[rank].clock) + hop.on_link;
  there_[caused] = link_free + hop.latency;
  const int receiver = work_.rank_of_stage[to];
  Rank& other = rank_[receiver];
  if (other.waits_for != caused || other.queued) return;
  other.queued = true;
  queue_.push_back(receiver);
}

bool StepTimer::take_bytes(int rank, const Instruction& instruction) {
  const auto [input, weight] = work_.held[instruction.stage];
  int64_t& bytes = rank_[rank].bytes;
  switch (instruction.op) {
    case Op::Forward:
      bytes += input;
      return bytes <= work_.limit[rank];
    case Op::BackwardInput:
      bytes -= input - weight;
      return true;
    case Op::BackwardWeight:
      bytes -= weight;
      return true;
    default:
      bytes -= input;
      return true;
  }
}

std::span<const StepTimer::Place> StepTimer::critical_path(const Programs& programs) {
  path_.clear();
  int last = 0;
  for (int rank = 1; rank < work_.ranks; ++rank) {
    if (rank_[rank].clock > rank_[last].clock) last = rank;
  }
  Place at{last, static_cast<int>(programs[last].size()) - 1};
  while (at.index >= 0) {
    path_.push_back(at);
    if (by_message_[at.rank][at.index]) {
      at = place_[awaited(programs[at.rank][at.index])];
    } else {
      --at.index;
    }
  }
  return path_;
}

}  // namespace penstock

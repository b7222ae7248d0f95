// The first field or instruction that makes no sense by itself.
#include "runtime/planning/schedule/well_formed.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <stdexcept>

#include "runtime/planning/schedule/edges.h"

namespace penstock {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw std::invalid_argument(message);
}

void check_placement(const Schedule& s) {
  if (s.stages < s.ranks) {
    refuse("a schedule of " + std::to_string(s.stages) + " stages does not fit on " +
           std::to_string(s.ranks) + " ranks: every rank holds one stage at least");
  }
  check_sizes(s.stages, 1, s.micro_batches);  // the limits are of stages, however they are placed
  if (static_cast<int>(s.rank_of_stage.size()) != s.stages) {
    refuse("rank_of_stage has " + std::to_string(s.rank_of_stage.size()) + " entries for " +
           std::to_string(s.stages) + " stages");
  }
  std::vector<int> held(s.ranks, 0);
  for (int stage = 0; stage < s.stages; ++stage) {
    const int rank = s.rank_of_stage[stage];
    if (rank < 0 || rank >= s.ranks) {
      refuse("stage " + std::to_string(stage) + " is placed on rank " + std::to_string(rank) +
             ", but ranks are 0 to " + std::to_string(s.ranks - 1));
    }
    ++held[rank];
  }
  for (int rank = 0; rank < s.ranks; ++rank) {
    if (held[rank] == 0) refuse("rank " + std::to_string(rank) + " holds no stage");
  }
}

void check_skips(const Schedule& s) {
  std::set<std::pair<int, int>> seen;
  for (const auto& [from, to] : s.skips) {
    const std::string skip =
        "the skip from stage " + std::to_string(from) + " to stage " + std::to_string(to);
    if (from < 0 || to >= s.stages) {
      refuse(skip + " leaves the pipeline, whose stages are 0 to " + std::to_string(s.stages - 1));
    }
    if (to <= from + 1)
      refuse(skip + " jumps over no stage: a skip leads further than to the next");
    if (!seen.emplace(from, to).second) refuse(skip + " is there twice");
  }
}

// Returns what is wrong with the other end of a message, or nothing.
std::string defect_of_peer(const Schedule& s, const Edges& edges, const Instruction& message) {
  const auto [op, stage, micro_batch, peer] = message;
  const auto other = [peer = peer] {
    return "has stage " + std::to_string(peer) + " at its other end";
  };
  if (peer < 0 || peer >= s.stages) {
    return other() + ", but stages are 0 to " + std::to_string(s.stages - 1);
  }
  const bool later = op == Op::SendActivation || op == Op::RecvGradient;
  if (later ? peer <= stage : peer >= stage) {
    return other() + ", which does not come " + (later ? "after" : "before") + " stage " +
           std::to_string(stage);
  }
  if (edges.of(message) < 0) return other() + ", but no skip joins these two";
  if (s.rank_of_stage[peer] == s.rank_of_stage[stage]) {
    return "is a message to itself: stage " + std::to_string(peer) + " is on the same rank";
  }
  return {};
}

// Returns what is wrong with the instruction on this rank, or nothing.
std::string defect(const Schedule& s, const Edges& edges, int rank,
                   const Instruction& instruction) {
  const auto [op, stage, micro_batch, peer] = instruction;
  if (op > Op::OptimizerStep) return "is not an instruction";
  if (!is_message(op) && peer != -1) return "is no message, but has another end";
  if (op == Op::Audit || op == Op::OptimizerStep) {
    if (stage == -1 && micro_batch == -1) return {};
    return "belongs to no stage and no micro-batch";
  }
  if (stage < 0 || stage >= s.stages) {
    return "names stage " + std::to_string(stage) + ", but stages are 0 to " +
           std::to_string(s.stages - 1);
  }
  if (s.rank_of_stage[stage] != rank) {
    return "names a stage of rank " + std::to_string(s.rank_of_stage[stage]);
  }
  if (op == Op::ReduceGradients) {
    if (micro_batch == -1) return {};
    return "belongs to no micro-batch";
  }
  if (micro_batch < 0 || micro_batch >= s.micro_batches) {
    return "names micro-batch " + std::to_string(micro_batch) + ", but micro-batches are 0 to " +
           std::to_string(s.micro_batches - 1);
  }
  return is_message(op) ? defect_of_peer(s, edges, instruction) : std::string();
}

}  // namespace

void check_sizes(int ranks, int chunks, int micro_batches) {
  if (ranks < 1) refuse("a pipeline needs at least 1 rank, not " + std::to_string(ranks));
  if (chunks < 1) refuse("a rank holds at least 1 stage, not " + std::to_string(chunks));
  if (micro_batches < 1) {
    refuse("a mini-batch needs at least 1 micro-batch, not " + std::to_string(micro_batches));
  }
  if (micro_batches > kMaxCells) {
    refuse(std::to_string(micro_batches) + " micro-batches are too many: at most " +
           std::to_string(kMaxCells) + " are possible");
  }
  const int64_t stages = static_cast<int64_t>(ranks) * chunks;
  const int64_t limit = std::min<int64_t>(kMaxStages, kMaxCells / micro_batches);
  if (stages > limit) {
    refuse("a schedule of " + std::to_string(stages) + " stages x " +
           std::to_string(micro_batches) + " micro-batches is too large: with so many " +
           "micro-batches at most " + std::to_string(limit) + " stages are possible");
  }
}

void check_well_formed(const Schedule& schedule) {
  check_sizes(schedule.ranks, 1, schedule.micro_batches);
  check_placement(schedule);
  check_skips(schedule);
  if (static_cast<int>(schedule.program.size()) != schedule.ranks) {
    refuse("there are " + std::to_string(schedule.program.size()) + " programs for " +
           std::to_string(schedule.ranks) + " ranks");
  }
  const Edges edges(schedule);
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    const auto& program = schedule.program[rank];
    for (int i = 0; i < static_cast<int>(program.size()); ++i) {
      const std::string problem = defect(schedule, edges, rank, program[i]);
      if (!problem.empty()) refuse(where(schedule, rank, i) + " " + problem);
    }
  }
}

std::string where(const Schedule& schedule, int rank, int index) {
  return text(schedule.program[rank][index]) + " (instruction " + std::to_string(index + 1) +
         " of rank " + std::to_string(rank) + ")";
}

}  // namespace penstock

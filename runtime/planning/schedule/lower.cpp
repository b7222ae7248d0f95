// The pass that inserts what follows from compute instructions.
#include "runtime/planning/schedule/lower.h"

#include <algorithm>
#include <stdexcept>

#include "runtime/planning/schedule/edges.h"
#include "runtime/planning/schedule/well_formed.h"

namespace penstock {
namespace {

// These are the stages on other ranks that a stage exchanges messages with: those before it and
// those after it, each list nearest first.
struct Partners {
  std::vector<int> before, after;
};

std::vector<Partners> partners_of(const Schedule& schedule) {
  std::vector<Partners> partners(schedule.stages);
  const Edges edges(schedule);
  for (int edge = 0; edge < edges.count(); ++edge) {
    const auto [from, to] = edges.ends(edge);
    if (schedule.rank_of_stage[from] == schedule.rank_of_stage[to]) continue;
    partners[from].after.push_back(to);
    partners[to].before.push_back(from);
  }
  for (auto& [before, after] : partners) {
    std::sort(before.rbegin(), before.rend());
    std::sort(after.begin(), after.end());
  }
  return partners;
}

// Returns the index of each stage's last weight gradient in the rank's program, or -1 if there is
// none.
std::vector<int> last_weight_gradients(const Schedule& schedule, int rank) {
  std::vector<int> last(schedule.stages, -1);
  const auto& program = schedule.program[rank];
  for (int i = 0; i < static_cast<int>(program.size()); ++i) {
    const bool weight = program[i].op == Op::Backward || program[i].op == Op::BackwardWeight;
    if (weight) last[program[i].stage] = i;
  }
  return last;
}

// Returns for each stage whether each of its backwards directly follows its own forward in the
// rank's program.
std::vector<bool> turns_around_at_once(const Schedule& schedule, int rank) {
  const auto& program = schedule.program[rank];
  std::vector<bool> at_once(schedule.stages, true);
  for (int i = 0; i < static_cast<int>(program.size()); ++i) {
    const auto [op, stage, j, peer] = program[i];
    if (op != Op::Backward && op != Op::BackwardInput) continue;
    if (i == 0 || program[i - 1] != Instruction{Op::Forward, stage, j}) at_once[stage] = false;
  }
  return at_once;
}

// Writes the lowered programs, one rank's at a time.
class Writer {
 public:
  Writer(const Schedule& schedule, const Lowering& options)
      : schedule_(schedule), options_(options), partners_(partners_of(schedule)) {}

  // Returns the lowered program of the rank. The reference is valid until the next call.
  const std::vector<Instruction>& write(int rank) {
    lowered_.clear();
    const auto& program = schedule_.program[rank];
    const std::vector<int> last = last_weight_gradients(schedule_, rank);
    const std::vector<bool> at_once = turns_around_at_once(schedule_, rank);
    for (int i = 0; i < static_cast<int>(program.size()); ++i) {
      const int stage = program[i].stage;
      const bool recompute = options_.recompute && !(options_.keep_adjacent && at_once[stage]) &&
                             std::ranges::count(options_.kept_stages, stage) == 0;
      before(program[i], recompute);
      if (options_.reduce && last[stage] == i) lowered_.push_back({Op::ReduceGradients, stage});
      lowered_.push_back(program[i]);
      after(program[i]);
    }
    if (options_.update) lowered_.push_back({Op::OptimizerStep});
    return lowered_;
  }

 private:
  static bool makes_input_gradient(Op op) { return op == Op::Backward || op == Op::BackwardInput; }

  void before(const Instruction& compute, bool recompute) {
    const auto [op, stage, j, peer] = compute;
    const auto& [earlier, later] = partners_[stage];
    if (op == Op::Forward) receive(Op::RecvActivation, earlier, compute);
    if (!makes_input_gradient(op)) return;
    if (recompute) lowered_.push_back({Op::Recompute, stage, j});
    receive(Op::RecvGradient, later, compute);
  }

  void after(const Instruction& compute) {
    const auto& [earlier, later] = partners_[compute.stage];
    if (compute.op == Op::Forward) send(Op::SendActivation, later, compute);
    if (makes_input_gradient(compute.op)) send(Op::SendGradient, earlier, compute);
  }

  void send(Op op, const std::vector<int>& peers, const Instruction& made) {
    for (const int peer : peers) lowered_.push_back({op, made.stage, made.micro_batch, peer});
  }

  void receive(Op op, const std::vector<int>& peers, const Instruction& needing) {
    for (auto peer = peers.rbegin(); peer != peers.rend(); ++peer) {
      lowered_.push_back({op, needing.stage, needing.micro_batch, *peer});
    }
  }

  const Schedule& schedule_;
  const Lowering options_;
  std::vector<Partners> partners_;
  std::vector<Instruction> lowered_;
};

void check_compute_only(const Schedule& schedule) {
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    const auto& program = schedule.program[rank];
    for (int i = 0; i < static_cast<int>(program.size()); ++i) {
      if (!is_compute(program[i].op)) {
        throw std::invalid_argument(where(schedule, rank, i) +
                                    " is no compute instruction; only those can be lowered");
      }
    }
  }
}

}  // namespace

Schedule lower(const Schedule& schedule, const Lowering& options) {
  check_well_formed(schedule);
  check_compute_only(schedule);
  Schedule lowered{.ranks = schedule.ranks,
                   .stages = schedule.stages,
                   .micro_batches = schedule.micro_batches,
                   .rank_of_stage = schedule.rank_of_stage,
                   .program = std::vector<std::vector<Instruction>>(schedule.ranks),
                   .skips = schedule.skips};
  Writer writer(schedule, options);
  for (int rank = 0; rank < schedule.ranks; ++rank) lowered.program[rank] = writer.write(rank);
  return lowered;
}

}  // namespace penstock

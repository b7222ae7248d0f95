#include "runtime/planning/replay/rank_program.h"

#include <stdexcept>

namespace penstock {

RankPrograms::RankPrograms(const Job& job) {
  const Edges edges(job.schedule);
  list_wires(job, edges);
  list_steps(job, edges);
  find_last_gradients(job);
}

void RankPrograms::list_wires(const Job& job, const Edges& edges) {
  const Schedule& schedule = job.schedule;
  const int neighbours = schedule.stages - 1;
  const auto bytes_of = [](const std::vector<double>& bytes, int i) {
    return bytes.empty() ? 0.0 : bytes[static_cast<size_t>(i)];
  };
  for (int e = 0; e < edges.count(); ++e) {
    const auto [from, to] = edges.ends(e);
    const double bytes = e < neighbours ? bytes_of(job.costs.boundary_bytes, e)
                                        : bytes_of(job.costs.skip_bytes, e - neighbours);
    const int down = schedule.rank_of_stage[static_cast<size_t>(from)];
    const int up = schedule.rank_of_stage[static_cast<size_t>(to)];
    wires.push_back({down, up, bytes});  // for activations; the next wire is for their gradients
    wires.push_back({up, down, bytes});
  }
  messages = wires.size() * static_cast<size_t>(schedule.micro_batches);
}

void RankPrograms::list_steps(const Job& job, const Edges& edges) {
  bool any = false;
  std::vector<bool> forwarded(static_cast<size_t>(job.schedule.stages), false);
  for (const auto& instructions : job.schedule.program) {
    auto& steps = program.emplace_back();
    steps.reserve(instructions.size());
    for (const Instruction& instruction : instructions) {
      RankStep& step = steps.emplace_back();
      step.stage = instruction.stage;
      if (is_message(instruction.op)) {
        any = true;
        step.kind = is_send(instruction.op) ? RankStep::Kind::Send : RankStep::Kind::Receive;
        step.wire = static_cast<int>(directed_edge(edges, instruction));
        step.event = int64_t{step.wire} * job.schedule.micro_batches + instruction.micro_batch;
      } else if (is_compute(instruction.op)) {
        step.kind = RankStep::Kind::Compute;
        if (instruction.op == Op::Forward && !forwarded[static_cast<size_t>(step.stage)]) {
          forwarded[static_cast<size_t>(step.stage)] = step.is_first_forward = true;
        }
        step.op = instruction.op;
        step.seconds =
            seconds_of(job.costs.stage[static_cast<size_t>(instruction.stage)], instruction.op);
      }
    }
  }
  if (!any && job.schedule.ranks > 1) {
    throw std::invalid_argument("bad job: its schedule has no messages: it was not lowered");
  }
}

void RankPrograms::find_last_gradients(const Job& job) {
  if (job.costs.replicas == 1 || job.costs.reduce.empty()) return;
  std::vector<bool> summed(static_cast<size_t>(job.schedule.stages), false);
  for (size_t position = 0; position < program.size(); ++position) {
    const auto& instructions = job.schedule.program[position];
    for (const Instruction& instruction : instructions) {
      if (instruction.op == Op::ReduceGradients) {
        summed[static_cast<size_t>(instruction.stage)] = true;
      }
    }
    for (size_t i = instructions.size(); i-- > 0;) {
      const auto [op, stage, micro_batch, peer] = instructions[i];
      if (op != Op::Backward && op != Op::BackwardWeight) continue;
      if (!summed[static_cast<size_t>(stage)]) continue;
      program[position][i].completes_gradients = true;
      summed[static_cast<size_t>(stage)] = false;
    }
  }
}

}  // namespace penstock

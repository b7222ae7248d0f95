// Instructions as text.
#include "runtime/planning/schedule/schedule.h"

#include <cstdlib>

namespace penstock {

const char* name_of(Op op) {
  switch (op) {
    case Op::Forward:
      return "F";
    case Op::Recompute:
      return "R";
    case Op::BackwardInput:
      return "I";
    case Op::BackwardWeight:
      return "W";
    case Op::Backward:
      return "B";
    case Op::SendActivation:
      return "SA";
    case Op::RecvActivation:
      return "RA";
    case Op::SendGradient:
      return "SG";
    case Op::RecvGradient:
      return "RG";
    case Op::ReduceGradients:
      return "RED";
    case Op::Audit:
      return "AUD";
    case Op::OptimizerStep:
      return "OPT";
  }
  return "?";
}

std::string text(const Instruction& instruction) {
  const auto [op, stage, micro_batch, peer] = instruction;
  std::string result = name_of(op);
  if (stage >= 0) result += std::to_string(stage);
  if (micro_batch >= 0) result.append(".").append(std::to_string(micro_batch));
  if (peer >= 0 && std::abs(peer - stage) != 1) {
    const bool leaves = op == Op::SendActivation || op == Op::SendGradient;
    result.append(leaves ? ">" : "<").append(std::to_string(peer));
  }
  return result;
}

}  // namespace penstock

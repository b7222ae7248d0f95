#include "runtime/schedule/schedule.h"

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
    case Op::OptimizerStep:
      return "OPT";
  }
  return "?";
}

std::string text(const Instruction& instruction) {
  std::string result = name_of(instruction.op);
  if (instruction.stage >= 0) result += std::to_string(instruction.stage);
  if (instruction.micro_batch >= 0)
    result.append(".").append(std::to_string(instruction.micro_batch));
  return result;
}

}  // namespace penstock

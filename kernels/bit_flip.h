// kernels/bit_flip.h -- changes single bits of what is computed or kept, as a defective processor
// or its memory does: the faults that audits are tested with. Without PENSTOCK_BIT_FLIPS nothing is
// changed, and an op pays one test of a flag.
//
// PENSTOCK_BIT_FLIPS is a list of "RANK STEP INSTRUCTION RESULT ELEMENT BIT", separated by commas:
// in that step on that rank, when the instruction of that name ("F0.3", "B1.2", "OPT": text() of
// runtime/planning/schedule/schedule.h) has its RESULT-th result, the bit changes. RESULT counts
// what ops return and gradients that they give from 0, modulo how many there were the last time the
// instruction ran; "weight" and "state" choose a weight or a number of the optimizer instead, right
// before the instruction. ELEMENT and BIT are taken modulo what there is. Each happens once and
// says so on the standard error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/device.h"

namespace penstock {

class BitFlips {
 public:
  // The one BitFlips of this process. One thread calls it.
  static BitFlips& instance();

  // Reads what the environment asks of this rank. Throws Error(Input) where it cannot be read.
  void arm(int rank);
  [[nodiscard]] bool armed() const { return armed_; }

  // Called before and after each instruction of a step. `audited`: an audit executes the
  // instruction again; the line that reports a change says so.
  void begin(int64_t step, const std::string& instruction, bool audited);
  void end();
  // Called with each result of an op of the instruction.
  void result(Device& device, const Tensor& made);
  // A bit flip of a weight or of the optimizer's state, due as the instruction begins.
  struct Kept {
    bool weight = false;  // else the optimizer's state
    uint64_t element = 0;
    int bit = 0;
  };
  [[nodiscard]] std::vector<Kept> take_kept();  // each once
  // Changes one bit of an element of `tensor`, both modulo what there is, and says on the standard
  // error that it did.
  void flip(Device& device, const Tensor& tensor, uint64_t element, int bit,
            const std::string& what) const;

 private:
  struct Order {
    int64_t step = 0;
    std::string instruction, result;
    uint64_t element = 0;
    int bit = 0;
    bool done = false;
  };
  struct Count {
    std::string instruction;
    uint64_t results = 0;
  };
  [[nodiscard]] uint64_t last_count() const;

  bool armed_ = false;
  int rank_ = 0;
  std::vector<Order> orders_;
  std::vector<Count> counts_;  // results of each instruction, the last time
  int64_t step_ = 0;
  std::string instruction_;  // empty: between two instructions
  bool audited_ = false;
  uint64_t results_ = 0;  // of the instruction so far
};

// Called with the result of every op and every gradient that is given: one test of a flag where no
// bits are to change.
inline void after_op(Device& device, const Tensor& made) {
  if (BitFlips::instance().armed() && made) BitFlips::instance().result(device, made);
}

}  // namespace penstock

// kernels/bit_flip.h -- BitFlips: flips chosen bits of results, weights or optimizer state, as a
// defective processor or memory would: the faults that audits are tested with. Without the variable
// PENSTOCK_BIT_FLIPS nothing is changed, and an op pays one test of a flag.
//
// PENSTOCK_BIT_FLIPS is a list of "RANK STEP INSTRUCTION RESULT ELEMENT BIT", separated by commas:
// when rank RANK executes that instruction ("F0.3", "B1.2", "OPT": text() of
// runtime/planning/schedule/schedule.h) in that step, bit BIT of element ELEMENT of result RESULT
// flips. Results are what ops return and the gradients that they give, numbered from 0; RESULT is
// taken modulo how many there were when the instruction last ran. RESULT "weight" or "state" flips
// a number of a weight or of the optimizer's state instead, right before the instruction. ELEMENT
// and BIT are taken modulo what there is. Each flip happens once and is reported on the standard
// error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/device.h"

namespace penstock {

class BitFlips {
 public:
  // The one BitFlips of this process, for one thread.
  static BitFlips& instance();

  // Reads PENSTOCK_BIT_FLIPS and keeps what concerns this rank. Throws Error(Input) where the text
  // is malformed.
  void arm(int rank);
  [[nodiscard]] bool armed() const { return armed_; }  // true: this rank has a flip, due or done

  // The executor calls begin() before and end() after each instruction of a step. `audited`: an
  // audit executes the instruction again; the line that reports a flip says so.
  void begin(int64_t step, const std::string& instruction, bool audited);
  void end();
  // Counts a result of an op of the current instruction, and flips its bit where that is due. Does
  // nothing between two instructions.
  void result(Device& device, const Tensor& made);
  // A bit flip of a weight or of the optimizer's state, due as the instruction begins. This class
  // does not know these tensors: the caller takes the order by take_kept() and executes it by
  // flip().
  struct Kept {
    bool weight = false;  // else the optimizer's state
    uint64_t element = 0;
    int bit = 0;
  };
  // Returns the flips of weights and state that are due now (after begin()); each is given once.
  [[nodiscard]] std::vector<Kept> take_kept();
  // Flips bit number `bit` of element number `element` of `tensor`, each taken modulo what there
  // is, and reports it on the standard error; `what` names the tensor there. Nothing happens to a
  // tensor without elements.
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
  std::vector<Count> counts_;  // results of each instruction when it last ran
  int64_t step_ = 0;
  std::string instruction_;  // empty: between two instructions
  bool audited_ = false;
  uint64_t results_ = 0;  // results of the current instruction so far
};

// Called with the result of every op and every gradient that is given: one test of a flag where no
// bit is to flip.
inline void after_op(Device& device, const Tensor& made) {
  if (BitFlips::instance().armed() && made) BitFlips::instance().result(device, made);
}

}  // namespace penstock

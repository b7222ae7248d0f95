// runtime/pipeline/executor.h -- Executor: does what one rank's program says, instruction by
// instruction.
//
// The switch in execute() is the only place that knows all ops of a schedule. Nothing about GPipe
// or 1F1B is known here. Sends are posted and never wait; receives wait, and the next message of an
// edge is announced as soon as the one before has come, so that it arrives during computation.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/pipeline/field_feed.h"
#include "runtime/pipeline/links.h"
#include "runtime/pipeline/mailbox.h"
#include "runtime/pipeline/tied_gradients.h"
#include "runtime/schedule/timing/timeline.h"
#include "runtime/stage/stage.h"

namespace penstock {

// One pass of a program.
struct StepInput {
  bool training = true;
  uint64_t seed = 0;
  int64_t step = 0;
  int64_t first_micro_batch = 0;  // global index of this replica's micro-batch 0
  float loss_scale = 1.0F;
  std::span<const Batch> batches;      // by micro-batch
  std::span<const Decoding> decoding;  // likewise, where words are being chosen
  std::function<void()> update;        // what OptimizerStep does
};

class Executor {
 public:
  struct Parts {
    std::vector<Stage*> stages;                       // by stage; null on other ranks
    std::vector<std::vector<TensorSpec>> boundaries;  // what enters each stage, but for skips
    std::vector<SkipRoute> skips;
    std::vector<std::string> inputs;  // batch fields that enter stage 0
    bool chooses_words = false;       // then every stage may read fields: where it is in its rows
    Links* links = nullptr;
    ReduceGroup* reduce = nullptr;  // null: no replicas
    TiedGradients* tied = nullptr;  // null: no parameter has several holders
    Device* device = nullptr;
    int64_t first_section = 0;  // keys of Device::begin_section, one per instruction, from here on
  };
  // `schedule` is lowered and verified; `rank` is this rank's position in its pipeline.
  Executor(const Schedule& schedule, int rank, Parts parts);

  void run(const StepInput& input);
  // Between ops of a long computation: moves messages. Stages are given this.
  void progress();

  // Which stages hand something to which, and what.
  [[nodiscard]] const Edges& edges() const { return mailbox_.edges(); }
  [[nodiscard]] const std::vector<std::vector<TensorSpec>>& tuples() const { return tuples_; }

  // From here on times count from zero.
  void reset_clock() { clock_->restart(); }
  // Of the last run, in seconds since the executor was made or its clock reset: when the device
  // did it. Waits for its end.
  [[nodiscard]] std::span<const TimedInstruction> events();
  // Of the last run: seconds in compute instructions, and from its start to the update (or the
  // end).
  [[nodiscard]] double busy_s();
  [[nodiscard]] double span_s();

 private:
  // A receiving edge and how many messages this program still takes from it.
  struct Inlet {
    ReceiveLink* link = nullptr;
    const std::vector<TensorSpec>* specs = nullptr;
    int per_run = 0;  // messages of one run
    int left = 0;     // not yet announced in this run
  };

  // Errors of other ranks say at which instruction they were met.
  void run_program(const StepInput& input);
  void execute(const Instruction& instruction, const StepInput& input);
  [[nodiscard]] Moment moment_of(const Instruction& instruction, const StepInput& input) const;
  [[nodiscard]] Tensors take_inputs(const Instruction& instruction);
  void forward(const Instruction& instruction, const StepInput& input);
  static void send(SendLink& link, Tensors& message);
  void fill_unwanted(int edge, Tensors& gradients);
  void announce(Inlet& inlet);
  void receive(Inlet& inlet, Tensors& into);
  [[nodiscard]] size_t at(const Instruction& instruction) const;

  std::vector<Instruction> program_;
  int micro_batches_;
  std::vector<int> rank_of_stage_;
  Parts parts_;
  std::vector<uint8_t> keep_tape_;  // by at(): no Recompute will come
  Mailbox mailbox_;
  std::vector<std::vector<TensorSpec>> tuples_;             // what goes along each edge
  std::vector<Inlet> activation_inlets_, gradient_inlets_;  // by edge
  FieldFeed fields_;
  std::unique_ptr<DeviceClock> clock_;    // point i is the start of instruction i
  std::vector<TimedInstruction> events_;  // read off the clock when somebody asks
};

}  // namespace penstock

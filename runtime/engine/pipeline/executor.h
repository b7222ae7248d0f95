// runtime/engine/pipeline/executor.h -- Executor: does what one rank's program says, instruction by
// instruction.
//
// The switch in execute() is the only place that knows all ops of a schedule; of GPipe or 1F1B the
// executor knows nothing. Sends are posted and never wait; receives wait.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/bit_flip.h"
#include "runtime/data/datasets/dataset.h"
#include "runtime/engine/pipeline/audit/audit.h"
#include "runtime/engine/pipeline/field_feed.h"
#include "runtime/engine/pipeline/links/channel.h"
#include "runtime/engine/pipeline/links/links.h"
#include "runtime/engine/pipeline/links/routes.h"
#include "runtime/engine/pipeline/program_activity.h"
#include "runtime/engine/pipeline/tied_gradients.h"
#include "runtime/network/stage/stage.h"
#include "runtime/planning/schedule/timing/timeline.h"

namespace penstock {

// What has become of the previous step's update, which a step may begin on before it is final.
enum class Settled : uint8_t {
  GoOn,   // it stands
  Again,  // it was changed: forwards that have run on its weights run again
  Stop,   // it was taken back, and nothing comes after it
};

// One run of a program, and what it runs on.
struct StepInput {
  Pass pass;
  std::span<const Batch> batches;      // by micro-batch
  std::span<const Decoding> decoding;  // by micro-batch, where words are chosen; else empty
  // The length of whole rows while words are chosen; 0: that of the data.
  int64_t positions = 0;
  std::function<void()> update;  // what OptimizerStep does
  bool audits = false;           // whether the program's Audit instruction does anything
  // Asked on every rank before the first instruction that needs the weights to be final
  // (runtime/planning/schedule/proof/leading_forwards.h), and after each Again; empty: the weights
  // are final.
  std::function<Settled()> settle;
};

class Executor {
 public:
  struct Parts {
    std::vector<Stage*> stages;       // by stage; null: another rank holds it
    Traffic traffic;                  // between all stages
    std::vector<std::string> inputs;  // batch fields that enter stage 0
    bool chooses_words = false;       // any stage may then read fields: the positions it computes
    Links* links = nullptr;
    ReduceGroup* reduce = nullptr;   // null: no replicas
    Collective* auditors = nullptr;  // the replicas, which repeat each other's work; null: none
    TiedGradients* tied = nullptr;   // null: no parameter has several holders
    Device* device = nullptr;
    ActivityLog* activity_log = nullptr;  // where this rank writes what it does; null: nowhere
    std::vector<int> world_ranks = {};    // by stage of this replica, for the activity log
    // Instruction i calls Device::begin_section() with first_section + i.
    int64_t first_section = 0;
  };
  // `schedule` is lowered and verified; `rank` is this rank's position in its pipeline.
  Executor(const Schedule& schedule, int rank, Parts parts);

  // Runs the program. Returns false where `settle` has stopped it.
  bool run(const StepInput& input);
  // Moves messages on; called between the ops of a long computation.
  void progress();
  // Reserves memory for most[e] messages under way at once along edge e, in both directions
  // together.
  void reserve(std::span<const int> most);

  // Times count from zero from here on.
  void reset_clock() { clock_->restart(); }
  // The instructions of the last run and when the device executed each, in seconds since the
  // executor was made or its clock reset. Waits for the end of the run. A sum over replicas ends
  // when the sums of all stages of this rank are there.
  [[nodiscard]] std::span<const TimedInstruction> events();
  // The audit of the last run, where input.audits was set.
  [[nodiscard]] const Audit& audit() const { return audit_; }

  // From the next run on, notes after each instruction how much of the device's memory is in use.
  void record_memory(bool wanted) { records_memory_ = wanted; }
  // Bytes, by instruction of the last run; empty where they were not recorded.
  [[nodiscard]] std::span<const int64_t> bytes_in_use() const { return bytes_in_use_; }

 private:
  // One direction of an edge, where this rank holds one of its stages or both.
  struct Passage {
    std::unique_ptr<Channel> channel;
    int received = 0;  // messages of one run
    int surplus = 0;   // messages to throw away when it begins again
  };
  // A stage of this rank and all that leads to it and away.
  struct HeldStage {
    Stage* stage = nullptr;
    std::vector<Channel*> inputs, outputs;                    // of activations
    std::vector<Channel*> output_gradients, input_gradients;  // what comes in, what goes out
    size_t input_count = 0, output_count = 0;                 // tensors of the tuples
  };
  // An instruction with what it acts on.
  struct Task {
    Instruction instruction;
    std::string name;            // text(instruction), for profilers
    HeldStage* held = nullptr;   // null: it belongs to no stage
    Channel* channel = nullptr;  // for messages
    bool keep_tape = true;       // for a forward: no Recompute will come
  };

  void open_channels(const Edges& edges, const std::vector<Route>& routes);
  void list_tasks(const std::vector<Instruction>& program, const Edges& edges);
  // An error that comes from another rank is thrown with the instruction at which it was met.
  bool run_program(const StepInput& input);
  // Forgets the forwards that have run; with `goes_on`, also prepares to run them again.
  void start_again(const StepInput& input, bool goes_on);
  void execute(const Task& task, const StepInput& input);
  void forward(const Task& task, const MicroBatch& batch);
  void backward(const Task& task, const MicroBatch& batch, Halves halves);
  void backward_weight(const Task& task, const MicroBatch& batch);
  void disturb(const Task& task, const StepInput& input);
  [[nodiscard]] MicroBatch micro_batch_of(const Task& task, const StepInput& input) const;
  [[nodiscard]] Tensors take_inputs(const Task& task) const;

  int micro_batches_;
  Parts parts_;
  std::vector<Passage> activations_, gradients_;  // by edge
  std::vector<HeldStage> held_stages_;            // by stage; without a stage on other ranks
  std::vector<Task> tasks_;
  size_t settled_before_ = 0;  // the index in tasks_ where `settle` is asked
  FieldFeed fields_;
  Audit audit_;
  // Point i is the start of instruction i; the point after the end of the last one is the end of
  // the sums over replicas.
  std::unique_ptr<DeviceClock> clock_;
  bool summed_ = false;  // in the last run
  ProgramActivity activity_log_;
  std::vector<TimedInstruction> events_;  // filled from the clock by events()
  bool records_memory_ = false;
  std::vector<int64_t> bytes_in_use_;
};

}  // namespace penstock

// runtime/engine/pipeline/executor.h -- Executor: executes the program of one rank, a list of
// instructions (forward, backward, send, receive, sum, update) that a schedule generator wrote and
// the verifier proved.
//
// Pipeline has one executor for training steps and others for evaluation, and calls run() once a
// step. The switch in execute() is the only place that knows what each instruction does; nothing
// here knows a schedule such as GPipe or 1F1B by name. An edge is a pair of stages of which one
// hands tensors to the other (runtime/planning/schedule/edges.h), with a channel in each direction
// (links/channel.h). Sends are posted and never wait; receives wait. docs/concepts.md explains
// stage, replica, micro-batch and schedule.
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

// With optimizer.barrier = false a rank updates its weights before it knows whether the gradient
// must be clipped, and begins the next step with weights that are not yet final. Later in that step
// it asks what became of the update. (step.h describes it; with the barrier, the default, nobody
// asks.)
enum class Settled : uint8_t {
  GoOn,   // the update stands: go on with this step
  Again,  // the update was changed: run the forwards of this step again
  Stop,   // the update was taken back, and this step is not to be taken: return
};

// What one run of the program is given. All that it refers to must stay until run() returns.
struct StepInput {
  Pass pass;                       // training or evaluation, step number, seed
  std::span<const Batch> batches;  // the batch fields, by micro-batch of this replica
  // By micro-batch, when words are generated (key/value cache); else empty.
  std::span<const Decoding> decoding;
  // When words are generated, the length of a row of tokens; 0: as long as the data's.
  int64_t positions = 0;
  std::function<void()> update;  // what the instruction OptimizerStep calls
  bool audits = false;           // whether this is an audited step (audit/audit.h)
  // Called once a step, before the first instruction that needs final weights: the first that is
  // neither a forward nor a message of one (runtime/planning/schedule/proof/leading_forwards.h);
  // after Again it is called anew. Empty: the weights are final.
  std::function<Settled()> settle;
};

class Executor {
 public:
  // What an executor works on. Pointers are not owned and must outlive it.
  struct Parts {
    std::vector<Stage*> stages;       // by stage; null where another rank holds it
    Traffic traffic;                  // shapes and types of the tensors between all stages
    std::vector<std::string> inputs;  // names of the batch fields that are the inputs of stage 0
    bool chooses_words = false;       // for generating words: any stage may then read batch fields
    Links* links = nullptr;           // to the other ranks of this pipeline
    ReduceGroup* reduce = nullptr;    // sums gradients over replicas; null: there are none
    Collective* auditors = nullptr;   // the replicas that audit one another; null: none do
    TiedGradients* tied = nullptr;    // null: no parameter is held by several layers
    Device* device = nullptr;
    // Where the rank notes what it does, for reports of hangs; null: nowhere.
    ActivityLog* activity_log = nullptr;
    // By stage of this replica, the world rank that holds it; for the activity log.
    std::vector<int> world_ranks = {};
    // Sections are what a device may record once and replay (CUDA graphs). Instruction i has the
    // section number first_section + i, which no other executor uses.
    int64_t first_section = 0;
  };
  // `schedule` is lowered (has its messages) and verified; `rank` is this rank's position in its
  // pipeline. The schedule is not needed after this.
  Executor(const Schedule& schedule, int rank, Parts parts);

  // Runs the program once. Returns when the host has issued everything; a GPU may still be at work.
  // Returns false where `settle` has answered Stop. Throws Error(Peer), naming the instruction,
  // when a message of another rank does not come.
  bool run(const StepInput& input);
  // Moves messages on without waiting; called between the ops of a long computation, since MPI
  // moves nothing by itself.
  void progress();
  // Takes memory for messages: most[e] of them under way at once along edge e, both directions
  // together.
  void reserve(std::span<const int> most);

  // Sets the zero of events() to now.
  void reset_clock() { clock_->restart(); }
  // The instructions of the last run, with the times at which the device began and ended each, in
  // seconds since the executor was made or reset_clock(). Waits for the device to end the run. A
  // ReduceGradients instruction ends when the sums of all stages of this rank are complete.
  [[nodiscard]] std::span<const TimedInstruction> events();
  // The audit of the last run; of interest where input.audits was set.
  [[nodiscard]] const Audit& audit() const { return audit_; }

  // Turns on or off, from the next run on, that the bytes in use on the device are noted after each
  // instruction.
  void record_memory(bool wanted) { records_memory_ = wanted; }
  // Bytes in use on the device after each instruction of the last run; empty where they were not
  // noted.
  [[nodiscard]] std::span<const int64_t> bytes_in_use() const { return bytes_in_use_; }

 private:
  // One direction of an edge that touches this rank. `channel` is null where neither stage is here.
  struct Passage {
    std::unique_ptr<Channel> channel;
    int received = 0;  // messages that this rank receives in one run
    // Messages of an abandoned first try to receive and throw away when the run begins again.
    int surplus = 0;
  };
  // A stage of this rank with the channels that lead to it and away; `stage` is null on other
  // ranks.
  struct HeldStage {
    Stage* stage = nullptr;
    std::vector<Channel*> inputs, outputs;  // of activations
    // Channels of gradients: those that come in, those that go out.
    std::vector<Channel*> output_gradients, input_gradients;
    size_t input_count = 0, output_count = 0;  // tensors that it takes, and gives
  };
  // An instruction of the program with what it acts on.
  struct Task {
    Instruction instruction;
    std::string name;            // "F1.3", for profilers and audits
    HeldStage* held = nullptr;   // null: the instruction belongs to no stage
    Channel* channel = nullptr;  // for messages; else null
    // Whether a forward keeps its tape, since no Recompute instruction will come.
    bool keep_tape = true;
  };

  // Fills in the channels of all edges that touch this rank.
  void open_channels(const Edges& edges, const std::vector<Route>& routes);
  // Makes tasks_ of the program.
  void list_tasks(const std::vector<Instruction>& program, const Edges& edges);
  // run() without its beginning and end.
  bool run_program(const StepInput& input);
  // Forgets the forwards of this run; with `goes_on` also prepares to run them again.
  void start_again(const StepInput& input, bool goes_on);
  void execute(const Task& task, const StepInput& input);
  void forward(const Task& task, const MicroBatch& batch);
  void backward(const Task& task, const MicroBatch& batch, Halves halves);
  void backward_weight(const Task& task, const MicroBatch& batch);
  // Flips bits where a test of audits asks for it.
  void disturb(const Task& task, const StepInput& input);
  [[nodiscard]] MicroBatch micro_batch_of(const Task& task, const StepInput& input) const;
  [[nodiscard]] Tensors take_inputs(const Task& task) const;

  int micro_batches_;
  Parts parts_;
  std::vector<Passage> activations_, gradients_;  // by edge
  std::vector<HeldStage> held_stages_;            // by stage
  std::vector<Task> tasks_;
  size_t settled_before_ = 0;  // `settle` is asked before tasks_[settled_before_]
  FieldFeed fields_;
  Audit audit_;
  // Point i is the start of instruction i. Behind the last instruction's end there is one more
  // point: the end of the sums over replicas.
  std::unique_ptr<DeviceClock> clock_;
  bool summed_ = false;  // whether the last run has marked that last point
  ProgramActivity activity_log_;
  std::vector<TimedInstruction> events_;  // made of the clock by events()
  bool records_memory_ = false;
  std::vector<int64_t> bytes_in_use_;
};

}  // namespace penstock

// runtime/engine/pipeline/pipeline.h -- Pipeline: this rank's part of the network, connected with
// the other ranks and ready to run training steps and evaluation passes.
//
// Every rank has one, which holds the rank's stages (layers and weights), its links to neighbouring
// stages, its group of replicas, and an executor for each program. One training step, as Step makes
// it:
//   begin_step()           sets gradients to zero
//   run(input)             forwards, backwards, messages, sums over replicas; last it calls
//     input.update()       which changes the weights and then calls
//       end_step()           moving statistics of batch norms
//       gather_weights()     sends updated weights, where replicas share the updates out
// A pipeline knows no data, optimizers or files. docs/concepts.md explains stage, replica,
// micro-batch and schedule.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/engine/pipeline/executor.h"
#include "runtime/engine/pipeline/late_weights.h"
#include "runtime/engine/pipeline/replica_exchange.h"
#include "runtime/network/stage/stage.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// The batch fields ("tokens", "labels") that a rank's stages read: none on most ranks.
struct FieldsRead {
  std::vector<std::string> fields;
  // The field with the targets of the loss, where a stage here holds the network's loss or an
  // auxiliary one; else empty.
  std::string targets;
};

class Pipeline {
 public:
  // The first steps of a process, during which caches of memory fill. All steps have the same
  // shapes, so no later step asks the system for memory.
  static constexpr int64_t kWarmUpSteps = 2;

  // Collective over all ranks. Allocates and initialises the weights and connects the ranks.
  // `blueprint` is what was planned and proved about the run: the layers, their split into stages,
  // every rank's programs. It must outlive the pipeline, as network and device must; the pipeline
  // alone may use its layers from here on. With model.from all weights but those of adapters are
  // zero until load_folder() or a checkpoint fills them. `trains`: false where no training step
  // will follow. `draws`: false: all weights are zero until the caller overwrites them. Throws
  // Error(Input) on every rank when ranks have built different networks.
  Pipeline(const Config& config, const Blueprint& blueprint, const Grid& grid, Network& network,
           Device& device, bool trains = true, bool draws = true);
  ~Pipeline() { device_.set_progress({}); }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Runs one training step (where input.pass.training is set) or one evaluation pass. An evaluation
  // pass is over whole rows of the data; over rows of input.positions tokens where that is not 0;
  // or over a single position, where input.decoding asks for it. Collective over the ranks of the
  // pipeline, and in training over all ranks. Returns false where input.settle has answered
  // Settled::Stop (executor.h).
  bool run(StepInput input);
  // To be called once before run() is used over one position, and before it is used over rows of
  // `positions` tokens. prepare_positions() does nothing when it is called again for the same
  // number.
  void prepare_one_position();
  void prepare_positions(int64_t positions);
  // The executor of training steps; its events() are those of the last step.
  [[nodiscard]] Executor& training() const { return *train_; }

  // Sets the gradients and other sums of a step to zero. `gradients_stay`: keep the gradients,
  // since the last update is not final and may have to be made again (step.h).
  void begin_step(bool gradients_stay = false);
  // Updates the moving statistics of norms. Called by the update of a step, after the sums over
  // replicas and before the next begin_step().
  void end_step();
  // Called after weights have changed: where replicas share the updates out (as in ZeRO-1: each
  // updates a part of the weights), starts sending each replica's part to the others
  // (late_weights.h); else does nothing. Collective over the replicas.
  void gather_weights();
  // Waits until the weights of gather_weights() are here. run() waits by itself; all else that
  // reads or changes weights must call this first.
  void await_weights();
  // Lets the device move this pipeline's messages between ops, as the constructor does: called
  // again after the destruction of another pipeline on the device, which leaves it without.
  void take_device();
  void drain();  // waits until all messages that this rank has sent have left

  [[nodiscard]] const Blueprint& blueprint() const { return blueprint_; }
  [[nodiscard]] const FieldsRead& reads() const { return reads_; }
  // The stage with the network's loss, the last one; null where another rank holds it.
  [[nodiscard]] const Stage* loss_stage() const { return stages_by_index_.back(); }
  // This rank's stages, ascending.
  [[nodiscard]] const std::vector<std::unique_ptr<Stage>>& stages() const { return stages_; }
  // All that this rank keeps from step to step (weights, optimizer states, statistics, averages):
  // the state tables of stages(), one after another.
  [[nodiscard]] StateRange state() const { return state_; }

 private:
  void make_stages(const Config& config, Device& device, bool trains, bool draws);
  void list_state();
  // Reserves memory for messages that a slow neighbour may leave under way longer than in the
  // warm-up.
  void reserve_for_messages();
  [[nodiscard]] bool holds_loss() const;
  // The names for FieldsRead::fields.
  [[nodiscard]] std::vector<std::string> fields() const;
  // Makes an executor for the schedule. `passing`: the tensors between stages; the last two
  // parameters are those of Executor::Parts.
  [[nodiscard]] std::unique_ptr<Executor> make_executor(const Schedule& schedule, Traffic passing,
                                                        int64_t first_section,
                                                        bool chooses_words) const;
  // Makes the executor of evaluation passes over rows of so many positions. `number` (0, 1, ...)
  // keeps its section numbers apart from those of other such executors.
  [[nodiscard]] std::unique_ptr<Executor> make_executor(int64_t positions, int64_t number) const;
  // The number of this rank's instructions.
  [[nodiscard]] int64_t program_size(const Schedule& schedule) const {
    return static_cast<int64_t>(schedule.program[static_cast<size_t>(position_)].size());
  }

  const Blueprint& blueprint_;
  int position_ = 0;  // of this rank in its pipeline
  int replicas_ = 1;
  Device& device_;
  Network& network_;
  std::vector<std::unique_ptr<Stage>> stages_;  // those of this rank, ascending
  std::vector<Stage*> stages_by_index_;         // all stages; null where another rank holds it
  std::vector<StateEntry*> state_;
  FieldsRead reads_;
  std::unique_ptr<Links> links_;
  std::unique_ptr<ReduceGroup> reduce_;
  Collective* auditors_ = nullptr;             // replicas that audit one another; null: none do
  std::unique_ptr<LateWeights> late_weights_;  // null: replicas do not share the updates out
  std::unique_ptr<ReplicaExchange> exchange_;  // null: batch norms see one replica only
  std::unique_ptr<TiedGradients> tied_;  // null: no trained parameter is held by several layers
  DType dtype_ = DType::F32;
  int64_t evaluation_batch_ = 1;  // samples of a micro-batch in evaluation
  ActivityLog* activity_log_;     // null: there is none
  std::vector<int> world_ranks_;  // by stage of this replica: the world rank that holds it
  std::unique_ptr<Executor> train_, evaluate_;
  int64_t warm_up_steps_ = 0;                                  // how many warm-up steps have run
  std::unique_ptr<Executor> one_position_;                     // null until prepared
  std::map<int64_t, std::unique_ptr<Executor>> by_positions_;  // made by prepare_positions()
};

}  // namespace penstock

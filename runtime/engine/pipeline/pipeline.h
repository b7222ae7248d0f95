// runtime/engine/pipeline/pipeline.h -- Pipeline: the network, cut into stages, wired between
// ranks, ready to run.
//
// One per rank. Holds this rank's stages and links and two programs: the training step, and the
// evaluation pass, by which words are chosen too. Knows no data, optimizers or files.
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

// The fields of a batch that a rank's stages read: none on most ranks.
struct FieldsRead {
  std::vector<std::string> fields;
  // The field with the targets of the losses that stages here hold, the network's or an auxiliary
  // one; empty where they hold none.
  std::string targets;
};

class Pipeline {
 public:
  // The number of first steps of a process during which caches fill. After these no step asks the
  // system for memory, since all steps have the same shapes.
  static constexpr int64_t kWarmUpSteps = 2;

  // Collective. `blueprint` must outlive the pipeline, which alone may use its layers from here on.
  // With model.from all weights but those of adapters are zero until load_folder() or a checkpoint
  // fills them. `trains`: false where no training step will follow, and weights stay as they are.
  Pipeline(const Config& config, const Blueprint& blueprint, const Grid& grid, Network& network,
           Device& device, bool trains = true);
  ~Pipeline() { device_.set_progress({}); }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Runs one training step (input.pass.training) or one evaluation pass: over one position where
  // input.decoding says so, or over rows of input.positions. Returns false where input.settle has
  // stopped it (executor.h).
  bool run(StepInput input);
  // Prepare run() for evaluation passes over one position, and over rows of `positions`.
  // prepare_positions() does nothing when it is called again for the same number.
  void prepare_one_position();
  void prepare_positions(int64_t positions);
  // The executor of training steps: its events() are those of the last step.
  [[nodiscard]] Executor& training() const { return *train_; }

  // Sets the sums of a step to zero. `gradients_stay`: the last update may still need its
  // gradients, which then stay until it is final.
  void begin_step(bool gradients_stay = false);
  // Updates the moving statistics of norms; called after the sums over replicas and before the next
  // begin_step().
  void end_step();
  // Starts giving every replica the weights that the others have changed, where replicas share the
  // updates out; else does nothing. Collective over the replicas, after the weights have changed.
  void gather_weights();
  // Waits until the weights that gather_weights() sends are here. run() waits by itself; all else
  // that reads or changes weights must call this first.
  void await_weights();
  void drain();  // waits until this rank owes the others nothing

  [[nodiscard]] const Blueprint& blueprint() const { return blueprint_; }
  [[nodiscard]] const FieldsRead& reads() const { return reads_; }
  // The stage with the network's loss; null on other ranks.
  [[nodiscard]] const Stage* loss_stage() const { return stages_by_index_.back(); }
  // This rank's stages, ascending.
  [[nodiscard]] const std::vector<std::unique_ptr<Stage>>& stages() const { return stages_; }
  // All that this rank keeps from step to step: the state tables of stages(), one after another.
  [[nodiscard]] StateRange state() const { return state_; }

 private:
  void make_stages(const Config& config, Device& device, bool trains);
  void list_state();
  // Reserves memory for messages that a slow neighbour may leave in flight longer than it did.
  void reserve_for_messages();
  [[nodiscard]] bool holds_loss() const;
  [[nodiscard]] std::vector<std::string> fields() const;
  // Makes an executor whose messages are `passing`; the last two parameters are as in
  // Executor::Parts.
  [[nodiscard]] std::unique_ptr<Executor> make_executor(const Schedule& schedule, Traffic passing,
                                                        int64_t first_section,
                                                        bool chooses_words) const;
  // Makes the executor of evaluation passes over rows of so many positions; `number` (0, 1, ...)
  // keeps its sections apart from those of other such executors.
  [[nodiscard]] std::unique_ptr<Executor> make_executor(int64_t positions, int64_t number) const;
  [[nodiscard]] int64_t program_size(const Schedule& schedule) const {
    return static_cast<int64_t>(schedule.program[static_cast<size_t>(position_)].size());
  }

  const Blueprint& blueprint_;
  int position_ = 0;
  int replicas_ = 1;
  Device& device_;
  std::vector<std::unique_ptr<Stage>> stages_;  // held here, ascending
  std::vector<Stage*> stages_by_index_;         // of all stages; null where another rank holds it
  std::vector<StateEntry*> state_;
  FieldsRead reads_;
  std::unique_ptr<Links> links_;
  std::unique_ptr<ReduceGroup> reduce_;
  Collective* auditors_ = nullptr;             // Executor::Parts::auditors
  std::unique_ptr<LateWeights> late_weights_;  // null: updates are not shared
  std::unique_ptr<ReplicaExchange> exchange_;  // null: norms are of one replica
  std::unique_ptr<TiedGradients> tied_;        // null: nothing that is trained is tied
  DType dtype_ = DType::F32;
  int64_t evaluation_batch_ = 1;
  ActivityLog* activity_log_;     // null: none is kept
  std::vector<int> world_ranks_;  // by stage, of this replica
  std::unique_ptr<Executor> train_, evaluate_;
  int64_t warm_up_steps_ = 0;               // how many warm-up steps have run
  std::unique_ptr<Executor> one_position_;  // null until prepared
  std::map<int64_t, std::unique_ptr<Executor>> by_positions_;
};

}  // namespace penstock

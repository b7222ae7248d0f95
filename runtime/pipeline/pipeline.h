// runtime/pipeline/pipeline.h -- Pipeline: the network, cut into stages, wired between ranks, ready
// to run.
//
// One per rank. Holds this rank's stages and links and two programs: the training step and the
// evaluation pass, which chooses words too. What it does not know: data, optimizers, files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/blueprint/blueprint.h"
#include "runtime/comm/network.h"
#include "runtime/configuration/config.h"
#include "runtime/pipeline/executor.h"
#include "runtime/pipeline/replica_exchange.h"
#include "runtime/stage/stage.h"

namespace penstock {

class Pipeline {
 public:
  // Collective. `blueprint` must outlive the pipeline, to which its layers then belong.
  Pipeline(const Config& config, const Blueprint& blueprint, const Grid& grid, Network& network,
           Device& device);

  // Runs one training step (input.training), or one evaluation pass, of one position where
  // input.decoding says so.
  void run(StepInput input);
  // To be called before such a pass.
  void prepare_one_position();
  // The executor of training steps: its events are those of the last one.
  [[nodiscard]] Executor& training() const { return *train_; }

  void begin_step();
  void end_step();  // after the replicas' sums, before the next begin_step()
  void drain() { links_->drain(); }
  // After the first steps: spare memory for messages that a slow neighbour leaves in flight longer
  // than it did so far, so that the steady state asks the system for nothing.
  void reserve_for_messages();

  [[nodiscard]] const Layout& layout() const { return blueprint_.layout; }
  [[nodiscard]] const ModelInput& input() const { return blueprint_.input; }
  [[nodiscard]] int position() const { return position_; }
  // Batch fields that this rank's stages read; empty on most.
  [[nodiscard]] std::vector<std::string> fields() const;
  // The batch field with the targets of the losses that stages here hold, the network's or an
  // auxiliary one; empty where they hold none.
  [[nodiscard]] const std::string& targets() const { return targets_; }
  [[nodiscard]] bool has_loss() const { return stages_by_index_.back() != nullptr; }
  [[nodiscard]] Stage& loss_stage() const { return *stages_by_index_.back(); }
  [[nodiscard]] const std::vector<std::unique_ptr<Stage>>& stages() const { return stages_; }
  // What this rank trains.
  [[nodiscard]] const std::vector<Parameter*>& parameters() const { return parameters_; }
  // What this rank holds, trained or frozen, and no stage before its own holds too (tied
  // parameters): what it writes to checkpoints and, where trained, adds to norms.
  [[nodiscard]] const std::vector<Parameter*>& owned() const { return owned_; }
  // The place of each owned one among those of the whole network in layer order.
  [[nodiscard]] const std::vector<size_t>& parameter_places() const { return places_; }
  [[nodiscard]] size_t total_places() const { return layout().tensors_before(layout().stages); }

 private:
  void make_stages(const Config& config, Device& device);
  void list_parameters(int s, Stage& stage);
  [[nodiscard]] bool holds_loss() const;
  // Of micro-batches of that size; the last two as in Executor::Parts.
  [[nodiscard]] std::unique_ptr<Executor> make_executor(const Schedule& schedule, Traffic passing,
                                                        int64_t first_section,
                                                        bool chooses_words) const;
  [[nodiscard]] int64_t program_size(const Schedule& schedule) const {
    return static_cast<int64_t>(schedule.program[static_cast<size_t>(position_)].size());
  }

  const Blueprint& blueprint_;
  int position_ = 0;
  int replicas_ = 1;
  std::string targets_;
  Device& device_;
  std::vector<std::unique_ptr<Stage>> stages_;  // held here, ascending
  std::vector<Stage*> stages_by_index_;         // all; null where held elsewhere
  std::vector<Parameter*> parameters_, owned_;
  std::vector<size_t> places_;
  std::unique_ptr<Links> links_;
  std::unique_ptr<ReduceGroup> reduce_;
  std::unique_ptr<ReplicaExchange> exchange_;  // null: norms are of one replica
  std::unique_ptr<TiedGradients> tied_;        // null: nothing that is trained is tied
  DType dtype_ = DType::F32;
  int64_t evaluation_batch_ = 1;
  Diary* diary_;                  // null: none is kept
  std::vector<int> world_ranks_;  // by stage, of this replica
  std::unique_ptr<Executor> train_, evaluate_;
  std::unique_ptr<Executor> one_position_;  // null until prepared
};

}  // namespace penstock

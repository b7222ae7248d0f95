#include "runtime/engine/pipeline/pipeline.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "runtime/network/models/adapter_names.h"
#include "runtime/network/optimizer/optimizer.h"
#include "runtime/planning/schedule/proof/window.h"

namespace penstock {
namespace {

DType dtype_named(const std::string& precision) {
  if (precision == "fp32") return DType::F32;
  if (precision == "bf16") return DType::BF16;
  fail_input("unknown run.precision '" + precision + "'; known are fp32 and bf16");
}

// Throws on every rank if any rank has built another network than rank 0: the two ends of a link
// would expect messages of different sizes.
void check_agreement(uint64_t mine, Collective& world) {
  const std::vector<int64_t> all = world.gather_to_all(static_cast<int64_t>(mine));
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    throw Error(ErrorKind::Input,
                "rank " + std::to_string(rank) +
                    " has built another network than rank 0: start the same program, of the same "
                    "version, on every host",
                ErrorScope::EveryRank);
  }
}

// Returns `replicas` if all of them compute on the same kind of device with as many threads, and so
// compute the same bits; else returns a null pointer. All replicas must call this. A GPU's
// description begins with its number, so only the part from the bracket on is compared.
Collective* auditors_among(Collective& replicas, const Device& device) {
  if (replicas.size() == 1) return nullptr;
  const std::string& all = device.description();
  const std::string kind =
      device.host_addressable() ? all : all.substr(std::min(all.find('('), all.size()));
  const auto mine = static_cast<int64_t>(hash_name(kind));
  const std::vector<int64_t> kinds = replicas.gather_to_all(mine);
  return std::ranges::all_of(kinds, [mine](int64_t each) { return each == mine; }) ? &replicas
                                                                                   : nullptr;
}

// Returns how many messages can be under way on the edge at most, activations and gradients
// together, however slow the other end is. From the sending of an activation to the arrival of its
// gradient, at most one of the two is under way.
int most_in_flight(const Schedule& schedule, StagePair edge) {
  const int rank = schedule.rank_of_stage[static_cast<size_t>(edge.from)];
  int now = 0;
  int most = 0;
  for (const Instruction& instruction : schedule.program[static_cast<size_t>(rank)]) {
    if (instruction.stage != edge.from || instruction.peer != edge.to) continue;
    if (instruction.op == Op::SendActivation) most = std::max(most, ++now);
    if (instruction.op == Op::RecvGradient) --now;
  }
  return most;
}

}  // namespace

Pipeline::Pipeline(const Config& config, const Blueprint& blueprint, const Grid& grid,
                   Network& network, Device& device, bool trains, bool draws)
    : blueprint_(blueprint),
      replicas_(grid.replicas),
      device_(device),
      network_(network),
      dtype_(dtype_named(config.run.precision)),
      evaluation_batch_(config.run.eval_batch > 0 ? config.run.eval_batch
                                                  : config.pipeline.micro_batch_size),
      activity_log_(network.activity_log()) {
  const auto& [input, model, layout, programs, targets] = blueprint;
  position_ = network.pipeline().rank();
  Traffic passing = traffic(model, layout, input, config.pipeline.micro_batch_size, dtype_);
  check_agreement(fingerprint(model, layout, passing), network.world());
  make_stages(config, device, trains, draws);
  const bool shares_updates = config.optimizer.is_shared_by(grid.replicas);
  if (shares_updates) {
    const int replica = network.replicas().rank();
    const auto is_whole = [&config](const Parameter& parameter) {
      return is_updated_whole(parameter, config.optimizer);
    };
    for (auto& stage : stages_) stage->weights().share(replicas_, replica, is_whole);
  }
  list_state();
  reads_ = {fields(), holds_loss() ? targets.name : ""};

  const int window =
      std::max(message_window(programs.training), message_window(programs.evaluation));
  links_ = std::make_unique<Links>(network, programs.training, window,
                                   config.pipeline.wire == "bf16", device);
  if (replicas_ > 1) reduce_ = network.reduce_group(device);
  if (config.run.audit > 0) auditors_ = auditors_among(network.replicas(), device);
  if (shares_updates) late_weights_ = std::make_unique<LateWeights>(stages_, *reduce_);
  if (replicas_ > 1 && config.model.norm_replicas) {
    exchange_ = std::make_unique<ReplicaExchange>(network.replicas());
  }
  const auto trained = [](const LayerTie& tie) { return !tie.frozen; };
  if (std::any_of(layout.ties.begin(), layout.ties.end(), trained)) {
    tied_ = std::make_unique<TiedGradients>(layout, programs.training.rank_of_stage,
                                            stages_by_index_, network, device);
  }
  for (const int position : programs.training.rank_of_stage) {
    world_ranks_.push_back(grid.world_rank(position, grid.replica_of(network.world().rank())));
  }
  train_ = make_executor(programs.training, std::move(passing), 0, false);
  evaluate_ =
      make_executor(programs.evaluation, traffic(model, layout, input, evaluation_batch_, dtype_),
                    program_size(programs.training), true);
  take_device();
}

void Pipeline::take_device() {
  const std::function<void()> progress = [this] {
    train_->progress();
    network_.do_side_work();
  };
  device_.set_progress(progress);
  for (auto& stage : stages_) stage->set_progress(progress);
}

std::unique_ptr<Executor> Pipeline::make_executor(const Schedule& schedule, Traffic passing,
                                                  int64_t first_section, bool chooses_words) const {
  Executor::Parts parts;
  parts.stages = stages_by_index_;
  parts.traffic = std::move(passing);
  parts.inputs = blueprint_.model.inputs;
  parts.chooses_words = chooses_words;
  parts.links = links_.get();
  parts.reduce = reduce_.get();
  parts.auditors = auditors_;
  parts.tied = tied_.get();
  parts.device = &device_;
  parts.activity_log = activity_log_;
  parts.world_ranks = world_ranks_;
  parts.first_section = first_section;
  return std::make_unique<Executor>(schedule, position_, std::move(parts));
}

std::unique_ptr<Executor> Pipeline::make_executor(int64_t positions, int64_t number) const {
  const Programs& programs = blueprint_.programs;
  ModelInput input = blueprint_.input;
  input.shape = {positions};
  return make_executor(
      programs.evaluation,
      traffic(blueprint_.model, blueprint_.layout, input, evaluation_batch_, dtype_),
      program_size(programs.training) + (1 + number) * program_size(programs.evaluation), true);
}

void Pipeline::prepare_one_position() {
  one_position_ = make_executor(1, 0);
}

void Pipeline::prepare_positions(int64_t positions) {
  const auto number = std::ssize(by_positions_) + 1;
  std::unique_ptr<Executor>& executor = by_positions_[positions];
  if (!executor) executor = make_executor(positions, number);
}

bool Pipeline::run(StepInput input) {
  input.pass.replicas = exchange_.get();
  if (input.pass.training) {
    const bool goes_on = train_->run(input);
    if (warm_up_steps_ < kWarmUpSteps && ++warm_up_steps_ == kWarmUpSteps) reserve_for_messages();
    return goes_on;
  }
  if (!input.decoding.empty() && input.decoding[0].one_position) return one_position_->run(input);
  return (input.positions > 0 ? by_positions_.at(input.positions) : evaluate_)->run(input);
}

void Pipeline::make_stages(const Config& config, Device& device, bool trains, bool draws) {
  const auto nothing = [](const std::string&) { return false; };
  const IsDrawn all_but_loaded = config.model.from.empty() ? IsDrawn() : is_of_adapter;
  const IsDrawn is_drawn = draws ? all_but_loaded : nothing;
  stages_by_index_.assign(static_cast<size_t>(blueprint_.layout.stages), nullptr);
  for (int s = 0; s < blueprint_.layout.stages; ++s) {
    if (blueprint_.programs.training.rank_of_stage[static_cast<size_t>(s)] != position_) continue;
    const Layout& layout = blueprint_.layout;
    const size_t first_layer = layout.first_layer[static_cast<size_t>(s)];
    const StagePlace place = {.freeze = config.optimizer.freeze,
                              .first = s == 0 || first_layer <= layout.first_trained,
                              .untrained = layout.untrained(s),
                              .one_micro_batch = trains && config.pipeline.micro_batches == 1};
    stages_.push_back(std::make_unique<Stage>(
        layout.layers_of(blueprint_.model, s), recompute_mode_named(config.pipeline.recompute),
        config.pipeline.micro_batches, dtype_, device, place));
    Stage& stage = *stages_.back();
    stage.allocate(config.run.seed, is_drawn);
    if (config.pipeline.reduction == "exact") {
      stage.weights().gradients().add_in_pairs(config.pipeline.micro_batches);
    }
    stages_by_index_[static_cast<size_t>(s)] = &stage;
  }
}

// Lists the state of this rank's stages. Fills in what only the whole network tells of an entry:
// its place, and whether its stage owns it. A tied parameter is owned by the first stage that holds
// it.
void Pipeline::list_state() {
  const Layout& layout = blueprint_.layout;
  std::unordered_map<std::string_view, size_t> place_of;
  for (const NetworkTensor& tensor : layout.named) place_of.emplace(tensor.name, place_of.size());
  std::unordered_map<std::string_view, int> first_holder;  // a tied name's first stage
  for (const LayerTie& tie : layout.ties) {
    first_holder.emplace(tie.name, layout.stage_of(tie.layers.front()));
  }
  for (int s = 0; s < layout.stages; ++s) {
    Stage* stage = stages_by_index_[static_cast<size_t>(s)];
    if (stage == nullptr) continue;
    for (StateEntry* entry : stage->weights().state()) {
      entry->place = place_of.at(entry->name);
      const auto first = first_holder.find(entry->name);
      entry->owned = first == first_holder.end() || first->second == s;
      state_.push_back(entry);
    }
  }
}

bool Pipeline::holds_loss() const {
  const Layout& layout = blueprint_.layout;
  for (int s = 0; s < layout.stages; ++s) {
    if (stages_by_index_[static_cast<size_t>(s)] == nullptr) continue;
    for (const auto& layer : layout.layers_of(blueprint_.model, s)) {
      if (layer == blueprint_.model.layers.back() || !layer->targets().empty()) return true;
    }
  }
  return false;
}

void Pipeline::reserve_for_messages() {
  const Edges edges(blueprint_.programs.training);
  std::vector<int> most;
  most.reserve(static_cast<size_t>(edges.count()));
  for (int e = 0; e < edges.count(); ++e) {
    most.push_back(most_in_flight(blueprint_.programs.training, edges.ends(e)));
  }
  train_->reserve(most);
}

void Pipeline::begin_step(bool gradients_stay) {
  for (auto& stage : stages_) stage->begin_step(gradients_stay);
  device_.memory().order_cache();  // the last step's tensors are free by now
}

void Pipeline::gather_weights() {
  if (!late_weights_) return;
  late_weights_->start();
  // The change is noted before the weights arrive: nobody reads the weights before they have
  // arrived.
  for (StateEntry* entry : state_) {
    if (entry->is_shared()) entry->changed();
  }
  // A device that is not the host replays recorded parts of a step. A replayed part cannot wait for
  // what was started outside of it, so the weights are awaited here.
  if (!device_.host_addressable()) await_weights();
}

void Pipeline::await_weights() {
  if (late_weights_) late_weights_->await_all();
}

void Pipeline::drain() {
  await_weights();
  links_->drain();
}

void Pipeline::end_step() {
  for (auto& stage : stages_) stage->end_step(replicas_);
}

std::vector<std::string> Pipeline::fields() const {
  std::vector<std::string> all;
  if (stages_by_index_.front() != nullptr) all = blueprint_.model.inputs;
  for (const auto& stage : stages_) {
    for (const std::string& field : stage->facts().reads) {
      if (std::find(all.begin(), all.end(), field) == all.end()) all.push_back(field);
    }
  }
  return all;
}

}  // namespace penstock

#include "runtime/engine/pipeline.h"

#include <algorithm>

#include "runtime/engine/programs.h"
#include "runtime/schedule/simulate.h"

namespace penstock {
namespace {

DType dtype_named(const std::string& precision) {
  if (precision == "fp32") return DType::F32;
  if (precision == "bf16") return DType::BF16;
  fail_input("unknown run.precision '" + precision + "'; known are fp32 and bf16");
}

// Messages of unequal sizes would be cut or overrun: better to say so before the first one.
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

// The most messages that can be on their way over boundary s in either direction, however slow the
// neighbour: a gradient that came back proves that its activation, and every earlier one, arrived,
// and an activation sent proves the same of the gradients before it.
int most_in_flight(const Schedule& schedule, int s) {
  const int rank = schedule.rank_of_stage[static_cast<size_t>(s)];
  int now = 0;
  int most = 0;
  for (const Instruction& instruction : schedule.program[static_cast<size_t>(rank)]) {
    if (instruction.stage != s) continue;
    if (instruction.op == Op::SendActivation) most = std::max(most, ++now);
    if (instruction.op == Op::RecvGradient) --now;
  }
  return most;
}

}  // namespace

Pipeline::Pipeline(const Config& config, const ModelMaker& models, int64_t vocabulary,
                   int64_t classes, const Grid& grid, Network& network, Device& device)
    : replicas_(grid.replicas), device_(device) {
  const int64_t evaluation_batch =
      config.run.eval_batch > 0 ? config.run.eval_batch : config.pipeline.micro_batch_size;
  DType dtype = DType::F32;
  on_every_rank([&] {
    dtype = dtype_named(config.run.precision);
    input_ = models.input(config.model);
    model_ = models.build(config.model, vocabulary, classes);
    check_model(model_, input_, config.pipeline.micro_batch_size);
    Programs programs = make_programs(config.pipeline);
    layout_ = lay_out(model_, input_, config, programs.training);
    training_ = std::move(programs.training);
    evaluation_ = std::move(programs.evaluation);
  });
  position_ = network.pipeline().rank();
  Executor::Parts parts;
  parts.boundaries = boundaries(model_, layout_, input_, config.pipeline.micro_batch_size, dtype);
  check_agreement(fingerprint(model_, layout_, parts.boundaries), network.world());
  make_stages(config, device);

  links_ = std::make_unique<Links>(network, training_, device);
  if (replicas_ > 1) reduce_ = network.reduce_group(device);
  parts.stages = stages_by_index_;
  parts.inputs = model_.inputs;
  parts.links = links_.get();
  parts.reduce = reduce_.get();
  for (int s = 0; s + 1 < layout_.stages; ++s) {
    const Boundary& boundary = links_->boundary(s);
    if (boundary.send_activation == nullptr && boundary.send_gradient == nullptr) continue;
    for (const TensorSpec& spec : parts.boundaries[static_cast<size_t>(s) + 1]) {
      sent_.push_back({static_cast<size_t>(spec.shape.elements()) * size_of(spec.dtype),
                       most_in_flight(training_, s)});
    }
  }
  train_ = std::make_unique<Executor>(training_, position_, parts);
  parts.boundaries = boundaries(model_, layout_, input_, evaluation_batch, dtype);
  evaluate_ = std::make_unique<Executor>(evaluation_, position_, parts);
  for (auto& stage : stages_) {
    stage->set_progress([executor = train_.get()] { executor->progress(); });
  }
}

void Pipeline::make_stages(const Config& config, Device& device) {
  const DType dtype = dtype_named(config.run.precision);
  stages_by_index_.assign(static_cast<size_t>(layout_.stages), nullptr);
  for (int s = 0; s < layout_.stages; ++s) {
    if (training_.rank_of_stage[static_cast<size_t>(s)] != position_) continue;
    stages_.push_back(std::make_unique<Stage>(layout_.layers_of(model_, s),
                                              recompute_mode_named(config.pipeline.recompute),
                                              config.pipeline.micro_batches, dtype, device));
    Stage& stage = *stages_.back();
    stage.set_first(s == 0);
    stage.allocate(config.run.seed);
    stages_by_index_[static_cast<size_t>(s)] = &stage;
    size_t place = layout_.tensors_before(s);
    for (Parameter* parameter : stage.parameters()) {
      parameters_.push_back(parameter);
      places_.push_back(place++);
    }
  }
}

void Pipeline::reserve_for_messages() {
  for (const Message& message : sent_) device_.memory().add_spare(message.size_bytes, message.most);
}

void Pipeline::begin_step() {
  for (auto& stage : stages_) stage->begin_step();
}

void Pipeline::end_step() {
  for (auto& stage : stages_) stage->end_step(replicas_);
}

double Pipeline::ideal_bubble() const {
  PipelineCosts costs;
  costs.stage.assign(static_cast<size_t>(training_.stages), StageTimes{.recompute = 0.0});
  const Timeline timeline = simulate(training_, costs);
  return makespan_bubble(timeline) / makespan(timeline);
}

std::vector<std::string> Pipeline::fields() const {
  std::vector<std::string> all;
  if (stages_by_index_.front() != nullptr) all = model_.inputs;
  for (const auto& stage : stages_) {
    for (const std::string& field : stage->reads()) {
      if (std::find(all.begin(), all.end(), field) == all.end()) all.push_back(field);
    }
  }
  return all;
}

}  // namespace penstock

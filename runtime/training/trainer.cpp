#include "runtime/training/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "runtime/blueprint/blueprint.h"
#include "runtime/blueprint/forecast.h"
#include "runtime/data/loader.h"
#include "runtime/optimizer/average.h"
#include "runtime/optimizer/clip.h"
#include "runtime/optimizer/optimizer.h"
#include "runtime/optimizer/rate.h"
#include "runtime/pipeline/pipeline.h"
#include "runtime/training/data_source.h"
#include "runtime/training/metrics.h"
#include "runtime/training/run_report.h"
#include "runtime/training/saver.h"
#include "runtime/training/trace_recorder.h"
#include "runtime/training/transfer.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Everything one rank holds during a run, and the few things it does with it.
class Trainer {
 public:
  Trainer(const Config& config, const ModelMaker& models, std::string run_file,
          const Session& session, Network& network, const Grid& grid, Device& device,
          Reporter* reporter, const Profile* profile)
      : config_(config),
        network_(network),
        grid_(grid),
        device_(device),
        reporter_(reporter),
        host_(host_memory_source()),
        source_(config, models, network.world()),
        blueprint_(on_every_rank([&] {
          return draw_up(config, models, source_.facts().vocabulary, source_.facts().classes);
        })),
        forecast_(look_ahead(session, profile)),
        pipeline_(config, blueprint_, grid, network, device),
        norm_(pipeline_, device),
        optimizer_(on_every_rank([&] { return make_optimizer(config.optimizer); })),
        no_data_(static_cast<size_t>(config.pipeline.micro_batches)),
        saver_(config, std::move(run_file), network.world(), device),
        report_(config, session, network, grid, pipeline_, device, std::move(forecast_)),
        trace_(config.run.trace, RunReport::kWarmUpSteps + 1, config.run.steps) {
    if (!config.init.from.empty()) start_from_another();
    note_frozen();
    optimizer_->allocate(pipeline_.parameters(), device);
    if (config.optimizer.moving_average > 0.0) {
      average_ = std::make_unique<WeightAverage>(config.optimizer.moving_average);
      average_->allocate(pipeline_.parameters(), device);
    }
    source_.open(pipeline_.fields());
    loader_ = source_.training_loader(loader_config(), batch_memory());
    device.memory().reset_peaks();
  }

  RunSummary run() {
    const auto start = Clock::now();
    if (reporter_ != nullptr) {
      if (config_.run.precision == "bf16" && !device_.native_bf16()) {
        reporter_->note(
            "note: this processor has no bf16 arithmetic; products run in fp32 and are rounded, "
            "which is slower than --run.precision fp32");
      }
    }
    StepRecord record;
    for (int64_t step = 1; step <= config_.run.steps; ++step) {
      record = train_step(step);
      if (step == RunReport::kWarmUpSteps) pipeline_.reserve_for_messages();
      if (reporter_ != nullptr) reporter_->step(record);
      const bool last = step == config_.run.steps;
      if (source_.facts().validation_samples > 0 &&
          (last || (config_.run.eval_every > 0 && step % config_.run.eval_every == 0))) {
        report_.evaluated(evaluate(step));
        if (reporter_ != nullptr) reporter_->evaluated(*report_.last_evaluation());
      }
      if ((last && config_.checkpoint.last) ||
          (config_.checkpoint.every > 0 && step % config_.checkpoint.every == 0)) {
        save(step);
      }
    }
    pipeline_.drain();
    write_trace();
    RunSummary summary = report_.summary(record.loss, seconds_since(start),
                                         loader_ ? loader_->seconds_waited() : 0.0);
    if (reporter_ != nullptr) reporter_->finished(summary);
    return summary;
  }

 private:
  void start_from_another() {
    const TransferRecord record =
        on_every_rank([&] { return plan_transfer(config_.init, blueprint_.layout); });
    transfer(record, pipeline_, device_);
    report_.started_from(record);
    if (reporter_ != nullptr) reporter_->note(describe(record));
  }

  void note_frozen() {
    if (reporter_ == nullptr || config_.optimizer.freeze.empty()) return;
    const Layout& layout = blueprint_.layout;
    reporter_->note("frozen: " + std::to_string(layout.frozen_parameters()) + " of " +
                    std::to_string(layout.total_parameters()) +
                    " parameters; the first layer that " + "trains is '" +
                    blueprint_.model.layers[layout.first_trained]->name() + "'");
  }

  // On rank 0, before anything is allocated: what is about to run, what it should take, and whether
  // there is memory for it.
  [[nodiscard]] std::optional<Forecast> look_ahead(const Session& session, const Profile* profile) {
    if (session.rank() != 0) return std::nullopt;
    Forecast ahead = forecast(config_, blueprint_, device_.model(), profile, session.local_ranks());
    if (reporter_ != nullptr) {
      reporter_->note(headline(config_, blueprint_.layout, network_, device_));
      if (!source_.note().empty()) reporter_->note(source_.note());
      reporter_->note(outlook(ahead, session, grid_, device_));
    }
    return ahead;
  }

  [[nodiscard]] LoaderConfig loader_config() const {
    const PipelineConfig& pipeline = config_.pipeline;
    LoaderConfig loader;
    loader.fields = pipeline_.fields();
    loader.micro_batch_size = pipeline.micro_batch_size;
    loader.micro_batches = pipeline.micro_batches;
    loader.replica = network_.replicas().rank();
    loader.replicas = pipeline.replicas;
    loader.seed = config_.run.seed;
    loader.shuffle = config_.data.shuffle;
    loader.prefetch = config_.data.prefetch;
    return loader;
  }

  [[nodiscard]] Memory& batch_memory() {
    return device_.host_addressable() ? host_ : device_.host_memory();
  }

  // The micro-batches of the next step or pass; empty ones on ranks whose stages read no data.
  [[nodiscard]] std::span<const Batch> next(const std::unique_ptr<Loader>& loader) const {
    return loader ? loader->next() : std::span<const Batch>(no_data_);
  }

  [[nodiscard]] StepInput step_input(int64_t step, bool training, std::span<const Batch> batches) {
    StepInput input;
    input.pass.training = training;
    input.pass.seed = config_.run.seed;
    input.pass.step = step;
    input.pass.first_micro_batch =
        static_cast<int64_t>(network_.replicas().rank()) * config_.pipeline.micro_batches;
    input.batches = batches;
    return input;
  }

  StepRecord train_step(int64_t step) {
    const auto start = Clock::now();
    report_.begin_step();
    StepRecord record;
    record.step = step;
    record.learning_rate = learning_rate(config_.optimizer, step, config_.run.steps);
    StepInput input = step_input(step, true, next(loader_));
    const double targets = count_targets(pipeline_, input.batches, network_.replicas());
    if (targets > 0.0) input.pass.loss_scale = static_cast<float>(1.0 / targets);
    input.update = [&] { update(record); };
    pipeline_.begin_step();
    trace_.begin_step(step, pipeline_.training(), network_.world());
    pipeline_.run(input);
    trace_.end_step(step, pipeline_.training());
    record.samples = source_.mini_batch();
    record.step_ms = 1e3 * seconds_since(start);
    record.speed = report_.speed(record.step_ms);
    report_.end_step(record.step_ms, record.tokens, pipeline_.training());
    return record;
  }

  // Once the gradients are complete: look at them, then change the weights.
  void update(StepRecord& record) {
    const LossSums loss =
        gather_loss(pipeline_, config_.pipeline.micro_batches, device_, network_.world());
    record.loss = loss.mean();
    record.auxiliary_loss = loss.auxiliary_mean();
    // Padding is no token.
    if (pipeline_.input().label_per_position) record.tokens = std::llround(loss.targets);
    if (!pipeline_.input().label_per_position) record.accuracy = loss.accuracy();
    record.grad_norm = norm_.compute(network_.pipeline());
    refuse_non_finite(record);
    const double scale = clip_scale(record.grad_norm, config_.optimizer.clip_norm);
    optimizer_->step(record.learning_rate, scale);
    pipeline_.end_step();
    if (average_) average_->update(record.step);
  }

  static void refuse_non_finite(const StepRecord& record) {
    if (std::isfinite(record.loss) && std::isfinite(record.grad_norm)) return;
    const bool loss = !std::isfinite(record.loss);
    throw Error(ErrorKind::Input,
                "step " + std::to_string(record.step) + ": the " +
                    (loss ? "loss" : "gradient norm") +
                    " is not finite; the weights were left as before this step. Lower "
                    "optimizer.learning_rate, add warmup_steps or set optimizer.clip_norm",
                ErrorScope::EveryRank);
  }

  EvalRecord evaluate(int64_t step) {
    const auto start = Clock::now();
    if (average_) average_->swap_in();
    LoaderConfig how = loader_config();
    if (config_.run.eval_batch > 0) how.micro_batch_size = config_.run.eval_batch;
    how.shuffle = false;
    how.wrap = false;
    const auto loader = source_.validation_loader(how, batch_memory());
    LossSums total;
    for (int64_t pass = 0; pass < source_.validation_passes(how); ++pass) {
      pipeline_.run(step_input(step, false, next(loader)));
      const LossSums part =
          gather_loss(pipeline_, config_.pipeline.micro_batches, device_, network_.world());
      total.loss += part.loss;
      total.correct += part.correct;
      total.targets += part.targets;
    }
    if (average_) average_->swap_out();
    EvalRecord record;
    record.step = step;
    record.loss = total.mean();
    if (!pipeline_.input().label_per_position) record.accuracy = total.accuracy();
    record.samples = source_.facts().validation_samples;
    record.seconds = seconds_since(start);
    return record;
  }

  void write_trace() {
    if (trace_.empty()) return;
    std::vector<TracedStep> steps = trace_.gather(network_.world());
    if (reporter_ != nullptr) reporter_->traced(report_.trace(std::move(steps)));
  }

  void save(int64_t step) {
    CheckpointRequest request;
    if (network_.replicas().rank() == 0) {
      for (const Parameter* parameter : pipeline_.owned()) {
        request.model.push_back({parameter->name, parameter->weight.value()});
      }
      for (const auto& stage : pipeline_.stages()) {
        for (const Buffer& buffer : stage->set().buffers()) {
          request.model.push_back({buffer.name, buffer.value});
        }
      }
      add_owned(optimizer_->state(), request);
      if (average_) add_owned(average_->state(), request);
    }
    const std::string warning = saver_.save(std::move(request), step, step * source_.mini_batch());
    if (!warning.empty() && reporter_ != nullptr) reporter_->note("warning: " + warning);
  }

  // Of a tied parameter only the owner writes, and once: the other holders have the same bits.
  void add_owned(const std::vector<StateTensor>& states, CheckpointRequest& request) const {
    std::unordered_set<std::string> owned;
    for (const Parameter* parameter : pipeline_.owned()) owned.insert(parameter->name);
    std::unordered_set<std::string> written;
    for (const StateTensor& state : states) {
      if (!owned.contains(state.parameter) || !written.insert(state.name()).second) continue;
      request.optimizer.push_back({state.name(), state.tensor});
    }
  }

  const Config& config_;
  Network& network_;
  Grid grid_;
  Device& device_;
  Reporter* reporter_;
  Memory host_;  // of the batches, where the device's own host memory is what it computes in
  DataSource source_;
  Blueprint blueprint_;
  std::optional<Forecast> forecast_;  // until the report has it
  Pipeline pipeline_;
  GradientNorm norm_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<WeightAverage> average_;
  std::unique_ptr<Loader> loader_;  // null where no data is read
  std::vector<Batch> no_data_;
  Saver saver_;
  RunReport report_;
  TraceRecorder trace_;
};

}  // namespace

RunSummary train(const Config& config, const ModelMaker& models, const std::string& run_file,
                 const Session& session, Network& network, const Grid& grid, Device& device,
                 Reporter* reporter, const Profile* profile) {
  return Trainer(config, models, run_file, session, network, grid, device, reporter, profile).run();
}

}  // namespace penstock

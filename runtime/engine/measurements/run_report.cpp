#include "runtime/engine/measurements/run_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/planning/blueprint/programs.h"
#include "runtime/records/telemetry/quantile.h"
#include "runtime/records/telemetry/rank_record_json.h"

namespace penstock {
namespace {

double first_start(const Timeline& timeline) {
  double first = std::numeric_limits<double>::infinity();
  for (const auto& events : timeline.rank) {
    if (!events.empty()) first = std::min(first, events.front().start);
  }
  return std::isfinite(first) ? first : 0.0;
}

// The predicted bytes in use after each instruction of a rank: what it keeps, and the activations
// of that moment.
std::vector<int64_t> predicted_bytes(const Prediction& prediction, size_t position) {
  const RankMemory& memory = prediction.memory[position];
  std::vector<int64_t> bytes;
  for (const BytesInUse& activations : prediction.bytes[position]) {
    bytes.push_back(memory.of_tensors() - memory.activations + activations.after);
  }
  return bytes;
}

double end_of(const Timeline& timeline) {
  double end = 0.0;
  for (const auto& events : timeline.rank) {
    for (const TimedInstruction& span : events) end = std::max(end, span.end);
  }
  return end;
}

}  // namespace

std::optional<Speed> speed_of(double step_flops, double step_ms, int ranks,
                              const DeviceModel& device, const RunConfig& config) {
  const bool told = config.peak_tflops > 0.0;
  const DType dtype = config.precision == "bf16" ? DType::BF16 : DType::F32;
  const double peak = told ? 1e12 * config.peak_tflops : device.products(dtype).peak;
  if (!(step_flops > 0.0 && step_ms > 0.0 && peak > 0.0)) return std::nullopt;
  const double rate = step_flops / static_cast<double>(ranks) / (1e-3 * step_ms);
  return Speed{.tflops = 1e-12 * rate,
               .mfu = rate / peak,
               .peak_tflops = 1e-12 * peak,
               .peak_from = told ? "run.peak_tflops" : device.peak_from};
}

RunReport::RunReport(const Config& config, const Station& station, const Pipeline& pipeline,
                     std::optional<Forecast> forecast)
    : config_(config),
      session_(station.session),
      network_(station.network),
      grid_(station.grid),
      pipeline_(&pipeline),
      device_(station.device),
      forecast_(std::move(forecast)) {
  constexpr int64_t kRoom = 1 << 20;  // 8 MiB; a longer run makes room as it goes
  step_ms_.reserve(static_cast<size_t>(std::min(config.run.steps, kRoom)));
  window_.reserve(SlowRanks::kWindow);
  if (session_.ranks() == 1) return;
  hosts_ = network_.world().gather_text(session_.host());
  watch_ranks();
}

void RunReport::watch_ranks() {
  if (session_.ranks() == 1 || !forecast_) return;
  std::vector<double> predicted_s;
  for (const auto& events : forecast_->prediction.timeline.rank) {
    predicted_s.push_back(occupancy(events).busy);
  }
  one_each_.assign(static_cast<size_t>(session_.ranks()), 1);
  busy_s_.resize(one_each_.size());
  slow_ranks_.emplace(grid_, std::move(predicted_s));
}

std::vector<std::string> RunReport::slow_ranks() {
  if (session_.ranks() == 1 || std::ssize(window_) < SlowRanks::kWindow) return {};
  const double mean_s = std::accumulate(window_.begin(), window_.end(), 0.0) / SlowRanks::kWindow;
  window_.clear();
  network_.world().gather({&mean_s, 1}, one_each_, busy_s_);
  compared_ = true;
  std::vector<std::string> lines;
  if (!slow_ranks_) return lines;
  for (const SlowRanks::Slow& slow : slow_ranks_->see(busy_s_)) {
    lines.push_back(describe(slow, hosts_[static_cast<size_t>(slow.rank)]));
  }
  return lines;
}

std::span<const double> RunReport::compute_seconds() const {
  return compared_ ? std::span<const double>(busy_s_) : std::span<const double>();
}

double RunReport::median_step_ms() const {
  return step_ms_.empty() ? 0.0 : quantile(step_ms_, 0.5);
}

void RunReport::begin_anew(const Pipeline& pipeline, std::optional<Forecast> forecast,
                           bool has_traced) {
  pipeline_ = &pipeline;
  if (has_traced && !traced_forecast_) traced_forecast_ = std::move(forecast_);
  forecast_ = std::move(forecast);
  steps_ = 0;
  step_ms_.clear();
  tokens_ = 0;
  loss_tokens_ = 0;
  largest_ = {};
  phase_ = {};
  window_.clear();
  compared_ = false;
  watch_ranks();
}

void RunReport::replanned(const ReplanRecord& record) {
  close_last_replan();
  replans_.push_back(record);
}

void RunReport::close_last_replan() {
  if (!replans_.empty() && replans_.back().measured_after_ms == 0.0) {
    replans_.back().measured_after_ms = median_step_ms();
  }
}

std::string RunReport::name_of_rank(int rank) const {
  std::string name = "rank " + std::to_string(rank);
  if (grid_.replicas == 1) return name;
  return name + " (position " + std::to_string(grid_.position_of(rank)) + ", replica " +
         std::to_string(grid_.replica_of(rank)) + ")";
}

const Trace& RunReport::traced(RecordedTrace recorded) {
  const PipelineConfig& pipeline = config_.pipeline;
  const std::optional<Forecast>& ahead = traced_forecast_ ? traced_forecast_ : forecast_;
  trace_.about = {{"model", config_.model.kind},
                  {"schedule", pipeline.schedule},
                  {"stages", std::to_string(pipeline.stages)},
                  {"replicas", std::to_string(pipeline.replicas)},
                  {"micro_batches", std::to_string(pipeline.micro_batches)},
                  {"micro_batch_size", std::to_string(pipeline.micro_batch_size)},
                  {"recompute", recompute_text(pipeline)},
                  {"device", device_.description()},
                  {"clocks", std::to_string(recorded.clocks)},
                  {"clock_error_us", std::to_string(1e6 * recorded.clock_error_s)}};
  TracedProcess as_run{.name = "measured"};
  TracedProcess expected{.name = "predicted"};
  for (int rank = 0; rank < grid_.ranks(); ++rank) {
    as_run.rank_names.push_back(name_of_rank(rank));
    as_run.replicas.push_back(grid_.replica_of(rank));
  }
  expected.rank_names = as_run.rank_names;
  expected.replicas = as_run.replicas;
  double last_end = 0.0;  // where a step is predicted to take longer, the next one begins later
  for (const TracedStep& step : recorded.steps) {
    if (!ahead) break;
    TracedStep& same = expected.steps.emplace_back(
        TracedStep{.step = step.step, .start = std::max(first_start(step.timeline), last_end)});
    last_end = same.start + end_of(ahead->prediction.timeline);
    for (int rank = 0; rank < grid_.ranks(); ++rank) {
      const auto position = static_cast<size_t>(grid_.position_of(rank));
      same.timeline.rank.push_back(ahead->prediction.timeline.rank[position]);
      same.bytes.push_back(predicted_bytes(ahead->prediction, position));
    }
  }
  as_run.steps = std::move(recorded.steps);
  trace_.processes.push_back(std::move(as_run));
  if (ahead) trace_.processes.push_back(std::move(expected));
  return trace_;
}

RunReport::Counters RunReport::counters() const {
  const DeviceCounts done = device_.counts();
  return {device_.memory().use().system_allocations, done.primitives_created,
          network_.requests_made(), done.commands_issued};
}

void RunReport::begin_step() {
  before_ = counters();
}

void RunReport::end_step(const StepAmounts& amounts, Executor& executor) {
  ++steps_;
  if (steps_ == kWarmUpSteps + 1) {
    step_ms_.clear();
    tokens_ = 0;
    loss_tokens_ = 0;
    phase_ = {};
  }
  tokens_ += amounts.tokens;
  loss_tokens_ += amounts.loss_tokens;
  step_ms_.push_back(amounts.step_ms);
  const Occupancy now_done = occupancy(executor.events());
  phase_.busy += now_done.busy;
  phase_.span += now_done.span;
  if (steps_ <= kWarmUpSteps) return;
  const Counters now = counters();
  largest_.allocations = std::max(largest_.allocations, now.allocations - before_.allocations);
  largest_.primitives = std::max(largest_.primitives, now.primitives - before_.primitives);
  largest_.requests = std::max(largest_.requests, now.requests - before_.requests);
  largest_.commands = std::max(largest_.commands, now.commands - before_.commands);
  if (session_.ranks() > 1) window_.push_back(now_done.busy);
}

std::optional<Speed> RunReport::speed(double step_ms) const {
  if (!forecast_) return std::nullopt;
  return speed_of(forecast_->step_flops, step_ms, grid_.ranks(), device_.model(), config_.run);
}

RankRecord RunReport::rank_record(const DataWaits& waits) const {
  RankRecord record;
  record.rank = session_.rank();
  record.stage = grid_.position_of(session_.rank());
  record.replica = grid_.replica_of(session_.rank());
  record.host = session_.host();
  record.device = device_.description();
  const auto& stages = pipeline_->stages();
  for (const auto& stage : stages) {
    if (!record.layers.empty()) record.layers += ", ";
    const StageFacts facts = stage->facts();
    record.layers += facts.first_layer;
    if (facts.first_layer != facts.last_layer) record.layers += " .. " + facts.last_layer;
  }
  record.parameters = parameters_kept(pipeline_->blueprint(), record.stage);
  record.memory = device_.memory().use();
  record.snapshot_bytes = snapshot_bytes_;
  if (device_.host_addressable()) record.memory.total_peak += snapshot_bytes_;
  record.phase_s = phase_.span;
  record.busy_fraction = phase_.span > 0.0 ? phase_.busy / phase_.span : 0.0;
  record.data_wait_ms = steps_ > 0 ? 1e3 * waits.seconds / static_cast<double>(steps_) : 0.0;
  record.data_waits = waits.steps;
  record.allocations_per_step = largest_.allocations;
  record.primitives_per_step = largest_.primitives;
  record.requests_per_step = largest_.requests;
  record.commands_per_step = largest_.commands;
  return record;
}

void RunReport::add_rates(RunSummary& summary) const {
  const PipelineConfig& pipeline = config_.pipeline;
  const double total_ms = std::accumulate(step_ms_.begin(), step_ms_.end(), 0.0);
  const double samples =
      static_cast<double>(pipeline.micro_batch_size * pipeline.micro_batches * pipeline.replicas) *
      static_cast<double>(step_ms_.size());
  if (total_ms > 0.0) {
    summary.samples_per_s = 1e3 * samples / total_ms;
    if (tokens_ > 0) {
      summary.tokens_per_s = 1e3 * static_cast<double>(tokens_) / total_ms;
      // A dry run computes no loss.
      const double share = static_cast<double>(loss_tokens_) / static_cast<double>(tokens_);
      if (loss_tokens_ > 0) summary.loss_share = share;
    }
  }
  summary.step_ms_median = quantile(step_ms_, 0.5);
  summary.step_ms_p95 = quantile(step_ms_, 0.95);
  if (!step_ms_.empty()) summary.speed = speed(total_ms / static_cast<double>(step_ms_.size()));
  summary.bubble_measured = measured_bubble(summary.ranks_detail);
}

// bubble_share() is what the prediction uses, too.
double measured_bubble(std::span<const RankRecord> ranks) {
  std::vector<Occupancy> all;
  for (const RankRecord& rank : ranks) {
    all.push_back({rank.busy_fraction * rank.phase_s, rank.phase_s});
  }
  return bubble_share(all);
}

void RunReport::add_forecast(RunSummary& summary) const {
  const Prediction& prediction = forecast_->prediction;
  summary.bubble_predicted = prediction.bubble;
  summary.forecast = {.basis = forecast_->basis,
                      .step_ms = 1e3 * prediction.step.plain_s,
                      .exposed_communication_ms = 1e3 * prediction.exposed_communication_s};
  for (RankRecord& rank : summary.ranks_detail) {
    const auto position = static_cast<size_t>(grid_.position_of(rank.rank));
    const RankMemory& memory = prediction.memory[position];
    rank.predicted_peak_bytes = memory.total(grid_.replica_of(rank.rank));
  }
}

RunSummary RunReport::summary(double final_loss, double seconds, const DataWaits& waits) {
  RunSummary summary;
  summary.ranks = session_.ranks();
  summary.stages = config_.pipeline.stages;
  summary.replicas = config_.pipeline.replicas;
  summary.micro_batches = config_.pipeline.micro_batches;
  summary.micro_batch_size = config_.pipeline.micro_batch_size;
  summary.model = config_.model.kind;
  summary.schedule = config_.pipeline.schedule;
  summary.warm_up = config_.pipeline.warm_up;
  summary.recompute = config_.pipeline.recompute;
  summary.kept_stages = config_.pipeline.kept_stages;
  summary.device = device_.description();
  summary.precision = config_.run.precision;
  summary.threads = config_.run.threads;
  summary.parameters = pipeline_->blueprint().layout.total_parameters();
  summary.frozen_parameters = pipeline_->blueprint().layout.frozen_parameters();
  summary.init = init_;
  summary.checkpoints = checkpoints_;
  summary.final_loss = final_loss;
  summary.seconds = seconds;
  summary.experts = experts_;
  for (const std::string& text : network_.world().gather_text(to_json(rank_record(waits)))) {
    summary.ranks_detail.push_back(rank_record_from_json(text));
  }
  close_last_replan();
  summary.replans = replans_;
  if (session_.rank() == 0) add_rates(summary);
  if (forecast_) add_forecast(summary);
  return summary;
}

}  // namespace penstock

#include "runtime/engine/training/evaluation/evaluation.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/error.h"
#include "kernels/ops/pointwise.h"
#include "runtime/engine/training/batches.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

std::vector<float> on_host(const Tensor& logits, Device& device) {
  Tensor wide = device.empty(logits.shape(), DType::F32, Purpose::Workspace);
  device.pointwise().copy(wide, logits);
  std::vector<float> values(static_cast<size_t>(wide.elements()));
  device.copy_to_host(values.data(), wide, wide.size_bytes());
  return values;
}

// Refuses logits that are not numbers. It looks only at rows with a label: a row that only fills up
// a batch may hold anything.
void refuse_no_numbers_of(std::span<const float> logits, std::span<const int32_t> labels) {
  const size_t classes = logits.size() / std::max<size_t>(labels.size(), 1);
  for (size_t r = 0; r < labels.size(); ++r) {
    if (labels[r] >= 0) refuse_no_numbers(logits.subspan(r * classes, classes));
  }
}

// Counts each row that has a label in `confusion`, at [label, class with the largest logit]. Of
// equal logits the first one counts.
void count_confusion(std::span<const float> logits, std::span<const int32_t> labels,
                     std::span<double> confusion) {
  const size_t classes = logits.size() / std::max<size_t>(labels.size(), 1);
  for (size_t r = 0; r < labels.size(); ++r) {
    if (labels[r] < 0) continue;
    const auto row = logits.subspan(r * classes, classes);
    const auto taken = static_cast<size_t>(std::ranges::max_element(row) - row.begin());
    confusion[static_cast<size_t>(labels[r]) * classes + taken] += 1.0;
  }
}

}  // namespace

int64_t count_among_five(std::span<const float> logits, std::span<const int32_t> labels) {
  const size_t classes = logits.size() / std::max<size_t>(labels.size(), 1);
  int64_t hits = 0;
  for (size_t r = 0; r < labels.size(); ++r) {
    if (labels[r] < 0) continue;
    const auto row = logits.subspan(r * classes, classes);
    const auto label = static_cast<size_t>(labels[r]);
    int64_t larger = 0;
    for (size_t c = 0; c < classes; ++c) {
      if (row[c] > row[label] || (row[c] == row[label] && c < label)) ++larger;
    }
    if (larger < 5) ++hits;
  }
  return hits;
}

void refuse_no_numbers(std::span<const float> logits) {
  const auto has_no_probability = [](float value) {
    return std::isnan(value) || value == std::numeric_limits<float>::infinity();
  };
  if (std::ranges::none_of(logits, has_no_probability)) return;
  fail_input(
      "the network's logits are not numbers: its training has diverged, take an earlier "
      "--checkpoint");
}

std::function<void(int64_t, int64_t)> told_now_and_then(int64_t samples, SayLine say,
                                                        std::chrono::seconds after) {
  const auto start = std::chrono::steady_clock::now();
  return [samples, say = std::move(say), start, next = start + after](int64_t done,
                                                                      int64_t all) mutable {
    const auto now = std::chrono::steady_clock::now();
    if (now < next || done == all) return;
    next = now + std::chrono::minutes(1);
    const double took_s = std::chrono::duration<double>(now - start).count();
    const double left_s = took_s * static_cast<double>(all - done) / static_cast<double>(done);
    say("evaluating: " + std::to_string(100 * done / all) + " % of " + std::to_string(samples) +
        " samples, " + seconds_text(left_s) + " left");
  };
}

std::optional<LossSums> pass_over_validation(const Config& config, DataSource& source,
                                             Pipeline& pipeline, const Station& station,
                                             const PassWatch& watch) {
  Batches batches(DataPart::Validation, config, source, pipeline, station);
  const int micro_batches = config.pipeline.micro_batches;
  const int64_t first = int64_t{station.network.replicas().rank()} * micro_batches;
  std::vector<Tensor> logits(static_cast<size_t>(micro_batches));  // empty if another rank has them
  const std::function<void(int, const Tensor&)> keep = [&](int micro_batch, const Tensor& all) {
    logits[static_cast<size_t>(micro_batch)] = all;
  };
  StepInput input;
  input.pass = {.training = false,
                .seed = config.run.seed,
                .first_micro_batch = first,
                .logits = watch.look ? &keep : nullptr};
  LossSums sums;
  for (int64_t pass = 0; pass < batches.passes(); ++pass) {
    input.batches = batches.next();
    pipeline.run(input);
    StepVote vote = watch.ask ? watch.ask() : StepVote{};
    const LossSums part =
        gather_loss(pipeline, micro_batches, station.device, station.network, &vote);
    sums.loss += part.loss;
    sums.correct += part.correct;
    sums.targets += part.targets;
    const int64_t before = pass * micro_batches * config.pipeline.replicas + first;
    for (size_t m = 0; m < logits.size(); ++m) {
      const Tensor of_one = std::exchange(logits[m], {});
      if (!of_one) continue;
      const int64_t first_sample = (before + static_cast<int64_t>(m)) * of_one.dim(0);
      watch.look(first_sample, input.batches[m], on_host(of_one, station.device));
    }
    const bool complete = pass + 1 == batches.passes();
    if (vote.stop && !complete) return std::nullopt;
    if (watch.went_on) watch.went_on(pass + 1, batches.passes());
  }
  return sums;
}

void check_validation(const Config& config, const DataSource& source, const TargetField& targets) {
  const int64_t samples = source.facts().validation_samples;
  const int64_t batch =
      config.run.eval_batch > 0 ? config.run.eval_batch : config.pipeline.micro_batch_size;
  const int64_t pass = batch * config.pipeline.micro_batches * config.pipeline.replicas;
  if (!targets.is_read || samples % pass == 0) return;
  throw Error(ErrorKind::Input,
              "the network reads the targets of its loss ('" + targets.name +
                  "') too, so that validation must fill whole passes of " + std::to_string(pass) +
                  " samples, and " + std::to_string(samples) +
                  " do not: change run.eval_batch or data.validation",
              ErrorScope::EveryRank);
}

Evaluation evaluate(const Config& config, DataSource& source, Pipeline& pipeline,
                    const Sequential& model, const Station& station, const SayLine& say,
                    int64_t classes) {
  if (source.facts().validation_samples == 0) {
    throw Error(ErrorKind::Input, "there is no validation data to evaluate on: set data.validation",
                ErrorScope::EveryRank);
  }
  check_validation(config, source, target_field(model));
  const std::string labels = model.layers.back()->targets();  // the field the classifier reads
  Evaluation result;
  result.confusion.resize(static_cast<size_t>(classes * classes));
  PassWatch watch;
  watch.look = [&](int64_t /*first*/, const Batch& batch, std::span<const float> logits) {
    const auto right = batch.field(labels).span<const int32_t>();
    refuse_no_numbers_of(logits, right);
    if (classes > 0) count_confusion(logits, right, result.confusion);
    result.among_five += static_cast<double>(count_among_five(logits, right));
  };
  if (say) watch.went_on = told_now_and_then(source.facts().validation_samples, say);
  result.sums = pass_over_validation(config, source, pipeline, station, watch).value();
  if (!std::isfinite(result.sums.loss)) {
    throw Error(ErrorKind::Input,
                "the network's loss is not a number: its training has diverged, take an earlier "
                "--checkpoint",
                ErrorScope::EveryRank);
  }
  station.network.world().sum({&result.among_five, 1});
  if (classes > 0) station.network.world().sum(result.confusion);
  return result;
}

}  // namespace penstock

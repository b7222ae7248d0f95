#include "runtime/training/evaluation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/error.h"
#include "kernels/ops/pointwise.h"
#include "runtime/layers/library/loss.h"
#include "runtime/training/batches.h"

namespace penstock {
namespace {

int64_t first_micro_batch(const Config& config, const Station& station) {
  return int64_t{station.network.replicas().rank()} * config.pipeline.micro_batches;
}

// The logits of a pass, by micro-batch, on the rank that has them.
class Logits {
 public:
  Logits(const Sequential& model, int micro_batches)
      : labels_(model.layers.back()->targets()), all_(static_cast<size_t>(micro_batches)) {}
  void keep(int micro_batch, const Tensor& logits) {
    all_[static_cast<size_t>(micro_batch)] = logits;
  }

  // Of all micro-batches, which are let go.
  int64_t count_hits(std::span<const Batch> batches, Device& device) {
    int64_t hits = 0;
    for (size_t m = 0; m < all_.size(); ++m) {
      const Tensor logits = std::exchange(all_[m], {});
      if (!logits) continue;
      Tensor wide = device.empty(logits.shape(), DType::F32, Purpose::Workspace);
      device.pointwise().copy(wide, logits);
      std::vector<float> values(static_cast<size_t>(wide.elements()));
      device.copy_to_host(values.data(), wide, wide.size_bytes());
      hits += count_among_five(values, batches[m].field(labels_).span<const int32_t>());
    }
    return hits;
  }

 private:
  std::string labels_;  // the batch field that the classifier reads
  std::vector<Tensor> all_;
};

using KeepLogits = std::function<void(int micro_batch, const Tensor& logits)>;

// Calls `keep` with the logits of each micro-batch, where they are, and `after` when a pass is
// over, with its batches.
template <class AfterPass>
LossSums pass_over_validation(const Config& config, DataSource& source, Pipeline& pipeline,
                              const Station& station, const KeepLogits* keep, AfterPass after) {
  Batches batches(DataPart::Validation, config, source, pipeline, station);
  StepInput input;
  input.pass = {.training = false,
                .seed = config.run.seed,
                .first_micro_batch = first_micro_batch(config, station),
                .logits = keep};
  LossSums sums;
  for (int64_t pass = 0; pass < batches.passes(); ++pass) {
    input.batches = batches.next();
    pipeline.run(input);
    const LossSums part =
        gather_loss(pipeline, config.pipeline.micro_batches, station.device, station.network);
    sums.loss += part.loss;
    sums.correct += part.correct;
    sums.targets += part.targets;
    after(input.batches);
  }
  return sums;
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

LossSums validation_loss(const Config& config, DataSource& source, Pipeline& pipeline,
                         const Station& station) {
  return pass_over_validation(config, source, pipeline, station, nullptr,
                              [](std::span<const Batch>) {});
}

Evaluation evaluate(const Config& config, DataSource& source, Pipeline& pipeline,
                    const Sequential& model, const Station& station) {
  if (source.facts().validation_samples == 0) {
    throw Error(ErrorKind::Input, "there is no validation data to evaluate on: set data.validation",
                ErrorScope::EveryRank);
  }
  check_validation(config, source, target_field(model));
  Logits logits(model, config.pipeline.micro_batches);
  const KeepLogits keep = [&](int micro_batch, const Tensor& all) {
    logits.keep(micro_batch, all);
  };
  Evaluation result;
  result.sums = pass_over_validation(
      config, source, pipeline, station, &keep, [&](std::span<const Batch> batches) {
        if (pipeline.loss_stage() == nullptr) return;
        result.among_five += static_cast<double>(logits.count_hits(batches, station.device));
      });
  station.network.world().sum({&result.among_five, 1});
  return result;
}

}  // namespace penstock

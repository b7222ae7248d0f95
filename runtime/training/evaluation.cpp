#include "runtime/training/evaluation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/error.h"
#include "kernels/ops/pointwise.h"
#include "runtime/layers/loss.h"

namespace penstock {
namespace {

LoaderConfig loader_config(const Config& config, const Pipeline& pipeline, Network& network) {
  LoaderConfig loader;
  loader.fields = pipeline.fields();
  loader.micro_batch_size =
      config.run.eval_batch > 0 ? config.run.eval_batch : config.pipeline.micro_batch_size;
  loader.micro_batches = config.pipeline.micro_batches;
  loader.replica = network.replicas().rank();
  loader.replicas = config.pipeline.replicas;
  loader.seed = config.run.seed;
  loader.shuffle = false;
  loader.wrap = false;
  loader.prefetch = config.data.prefetch;
  return loader;
}

// The logits of a pass, by micro-batch, on the rank that has them.
class Logits {
 public:
  explicit Logits(int micro_batches) : all_(static_cast<size_t>(micro_batches)) {}
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
      hits += count_among_five(values, batches[m].field("labels").span<const int32_t>());
    }
    return hits;
  }

 private:
  std::vector<Tensor> all_;
};

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

Evaluation evaluate(const Config& config, DataSource& source, Pipeline& pipeline, Network& network,
                    Device& device) {
  if (source.facts().validation_samples == 0) {
    throw Error(ErrorKind::Input, "there is no validation data to evaluate on: set data.validation",
                ErrorScope::EveryRank);
  }
  const LoaderConfig how = loader_config(config, pipeline, network);
  Memory host(host_memory_source());
  const auto loader =
      source.validation_loader(how, device.host_addressable() ? host : device.host_memory());
  const std::vector<Batch> no_data(static_cast<size_t>(how.micro_batches));
  StepInput input;
  Logits logits(how.micro_batches);
  const std::function<void(int, const Tensor&)> keep = [&](int micro_batch, const Tensor& all) {
    logits.keep(micro_batch, all);
  };
  input.pass = {.training = false,
                .seed = config.run.seed,
                .first_micro_batch = int64_t{how.replica} * how.micro_batches,
                .logits = &keep};
  Evaluation result;
  for (int64_t pass = 0; pass < source.validation_passes(how); ++pass) {
    input.batches = loader ? loader->next() : std::span<const Batch>(no_data);
    pipeline.run(input);
    const LossSums part = gather_loss(pipeline, how.micro_batches, device, network.world());
    result.sums.loss += part.loss;
    result.sums.correct += part.correct;
    result.sums.targets += part.targets;
    if (pipeline.has_loss()) {
      result.among_five += static_cast<double>(logits.count_hits(input.batches, device));
    }
  }
  network.world().sum({&result.among_five, 1});
  return result;
}

}  // namespace penstock

#include "runtime/engine/training/batches.h"

namespace penstock {
namespace {

LoaderConfig reading_order(DataPart part, const Config& config, const Pipeline& pipeline,
                           Network& network) {
  LoaderConfig order;
  order.fields = pipeline.reads().fields;
  order.targets = pipeline.reads().targets;
  order.micro_batch_size = config.pipeline.micro_batch_size;
  order.micro_batches = config.pipeline.micro_batches;
  order.replica = network.replicas().rank();
  order.replicas = config.pipeline.replicas;
  order.seed = config.run.seed;
  order.shuffle = config.data.shuffle;
  order.prefetch = config.data.prefetch;
  order.threads = config.data.threads > 0 ? config.data.threads : config.data.spare_cores;
  if (part == DataPart::Training) return order;
  if (config.run.eval_batch > 0) order.micro_batch_size = config.run.eval_batch;
  order.shuffle = false;
  order.wrap = false;
  return order;
}

}  // namespace

Batches::Batches(DataPart part, const Config& config, DataSource& source, const Pipeline& pipeline,
                 const Station& station, int64_t first_sample)
    : no_data_(static_cast<size_t>(config.pipeline.micro_batches)) {
  LoaderConfig order = reading_order(part, config, pipeline, station.network);
  order.first_sample = first_sample;
  Memory& memory = source.batch_memory(station.device);
  if (part == DataPart::Training) {
    loader_ = source.training_loader(order, memory);
  } else {
    loader_ = source.validation_loader(order, memory);
    passes_ = source.validation_passes(order);
  }
}

std::span<const Batch> Batches::next() {
  return loader_ ? loader_->next() : std::span<const Batch>(no_data_);
}

DataWaits Batches::waits() const {
  return loader_ ? loader_->waits() : DataWaits{};
}

}  // namespace penstock

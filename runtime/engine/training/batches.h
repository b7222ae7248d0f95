// runtime/engine/training/batches.h -- Batches: gives a rank the micro-batches of each training
// step, or of each evaluation pass, with the fields that the stages of this rank read. A pass is
// one run through the pipeline, of M micro-batches on each replica; it takes several to see all
// validation data.
//
// It asks the DataSource for a loader (which reads ahead on threads of its own) and says which
// samples, fields and sizes. On ranks whose stages read no data nothing is opened and the batches
// are empty.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/data/datasets/loader.h"
#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/engine/training/data_source.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/system/comm/station.h"

namespace penstock {

// Training data are shuffled, and start again at their end. Validation data are read once, in
// order, in micro-batches of run.eval_batch samples where that is set.
enum class DataPart : uint8_t { Training, Validation };

class Batches {
 public:
  // Reads the micro-batches of this rank's replica, with the fields that its stages read.
  // `first_sample`: the global index of the first sample, counted over all steps and replicas
  // (Progress::consumed_samples). `source` is open for the pipeline's fields (DataSource::open())
  // and must outlive this. `station`: which rank this is, with its network, its place in stages x
  // replicas and its device.
  Batches(DataPart part, const Config& config, DataSource& source, const Pipeline& pipeline,
          const Station& station, int64_t first_sample = 0);

  // The M micro-batches of the next step or pass, valid until the next call; may wait for the
  // reading threads. On ranks that read no data: as many empty ones. Throws what reading a sample
  // threw, such as Error(Data) for a damaged file.
  [[nodiscard]] std::span<const Batch> next();
  // How many passes, and so calls of next(), cover the validation data once; 0 for training data.
  [[nodiscard]] int64_t passes() const { return passes_; }
  // How long next() has waited for data so far; zeros where none is read.
  [[nodiscard]] DataWaits waits() const;

 private:
  std::unique_ptr<Loader> loader_;  // null where no data is read
  std::vector<Batch> no_data_;
  int64_t passes_ = 0;
};

}  // namespace penstock

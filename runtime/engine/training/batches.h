// runtime/engine/training/batches.h -- Batches: reads the micro-batches of a rank from the data,
// those of one step or pass after another.
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

// A part of the data, which also says how it is read: training shuffles and starts again at the
// end, validation is read once, in order, in micro-batches of run.eval_batch where that is set.
enum class DataPart : uint8_t { Training, Validation };

class Batches {
 public:
  // Reads the micro-batches of this rank's replica, with the fields that its stages read, from
  // `first_sample`, an index into the samples of all steps, on. `source` is open for these fields
  // and must outlive this.
  Batches(DataPart part, const Config& config, DataSource& source, const Pipeline& pipeline,
          const Station& station, int64_t first_sample = 0);

  // The micro-batches of the next step or pass, valid until the next call; on ranks whose stages
  // read no data, as many empty ones.
  [[nodiscard]] std::span<const Batch> next();
  // How often to call next() to see the validation data once.
  [[nodiscard]] int64_t passes() const { return passes_; }
  [[nodiscard]] DataWaits waits() const;  // zeros where no data is read

 private:
  std::unique_ptr<Loader> loader_;  // null where no data is read
  std::vector<Batch> no_data_;
  int64_t passes_ = 0;
};

}  // namespace penstock

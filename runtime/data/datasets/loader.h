// runtime/data/datasets/loader.h -- which samples a step reads, and threads that read them ahead.
//
// A sample is addressed by its global index: from sample f on, in the s-th step (from 0), with
// mini-batches of B = replicas * M * b samples, replica r, micro-batch m, place j has index
// f + s * B + (r * M + m) * b + j. Epoch e covers indices
// [e n, (e + 1) n) in an order that depends on (seed, e) only. So the data order does not depend
// on the number of stages, nor (for the same B and b) of replicas.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/memory/memory.h"
#include "runtime/data/datasets/dataset.h"
#include "runtime/data/datasets/sampler.h"  // IWYU pragma: export

namespace penstock {

struct LoaderConfig {
  std::vector<std::string> fields = {};  // what this rank's stages read; may be empty
  std::string targets = {};      // the one that losses compare with, besides "labels"; may be empty
  int64_t micro_batch_size = 1;  // b
  int micro_batches = 1;         // M, of this replica
  int replica = 0, replicas = 1;
  uint64_t seed = 0;
  bool shuffle = true;
  bool wrap =
      true;  // training: epochs follow each other; evaluation: one pass, then padding: targets of
  // -1, which no loss counts, and else zeros
  int prefetch = 2;          // steps decoded ahead
  int threads = 1;           // threads that decode; batches do not depend on their number
  int64_t first_sample = 0;  // f: what earlier steps have read
};

// How long and how often a loader kept its consumer waiting for data.
struct DataWaits {
  double seconds = 0.0;  // inside next(), in total
  int64_t steps = 0;     // steps that were not ready when asked for, but for the first
};

class Loader {
 public:
  // `host`, memory of the host that outlives the loader, holds the batches (Purpose::Workspace):
  // taken once, refilled.
  Loader(std::shared_ptr<const Dataset> dataset, LoaderConfig config, Memory& host);
  ~Loader();  // stops the threads
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The M micro-batches of the next step, in order; valid until the next call. Waits for the
  // threads. Rethrows what reading threw: of the first sample that could not be read.
  [[nodiscard]] std::span<const Batch> next();
  // Steps that cover the dataset once, the last one padded (evaluation).
  [[nodiscard]] int64_t steps_per_epoch() const;
  [[nodiscard]] const DataWaits& waits() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock

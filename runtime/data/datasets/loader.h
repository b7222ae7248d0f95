// runtime/data/datasets/loader.h -- Loader: which samples a step reads, and threads that read
// them ahead.
//
// A sample is addressed by its global index. With mini-batches of B = replicas * M * b samples, the
// first of which begins with sample f, place j of micro-batch m of replica r has in step s (from 0)
// the index f + s * B + (r * M + m) * b + j. Epoch e covers the indices [e n, (e + 1) n), n samples
// of the set, in an order that depends on (seed, e) only. So the order of the data depends neither
// on the number of stages nor (for the same B and b) on that of replicas.
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
  std::vector<std::string> fields = {};  // that this rank's stages read; may be empty
  std::string targets = {};  // the field that losses compare with, besides "labels"; may be empty
  int64_t micro_batch_size = 1;  // b
  int micro_batches = 1;         // M, of this replica
  int replica = 0, replicas = 1;
  uint64_t seed = 0;
  bool shuffle = true;
  // true (training): epochs follow each other; false (evaluation): one pass, then padding: -1 in
  // labels and `targets` (no loss counts it), 0 in other fields.
  bool wrap = true;
  int prefetch = 2;          // steps decoded ahead
  int threads = 1;           // threads that decode; batches do not depend on their number
  int64_t first_sample = 0;  // f: how many samples earlier steps have read
};

// How long and how often a loader kept its consumer waiting for data.
struct DataWaits {
  double seconds = 0.0;  // inside next(), in total
  int64_t steps = 0;     // steps that were not ready when asked for, the first not counted
};

class Loader {
 public:
  // `host`, memory of the host that outlives the loader, holds the batches (Purpose::Workspace);
  // they are taken once and refilled.
  Loader(std::shared_ptr<const Dataset> dataset, LoaderConfig config, Memory& host);
  ~Loader();  // stops the threads
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The M micro-batches of the next step, in order; valid until the next call. Waits for the
  // threads. Rethrows what reading the first unreadable sample threw.
  [[nodiscard]] std::span<const Batch> next();
  // Steps that cover the dataset once, the last one padded (evaluation).
  [[nodiscard]] int64_t steps_per_epoch() const;
  [[nodiscard]] const DataWaits& waits() const;  // so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock

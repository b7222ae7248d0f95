// runtime/data/datasets/loader.h -- Loader: gives a rank the samples of one step after another,
// which its threads read ahead while the step before is computed.
//
// The samples of a step: all samples that a run ever reads are numbered through, the mini-batches
// of all steps one after another, in each the replicas, in each of these the micro-batches. With R
// replicas, M micro-batches of b samples, mini-batches of B = R * M * b samples, and a run whose
// first step begins with sample f, sample j of micro-batch m of replica r has in step s (from 0)
// the number
//   f + s * B + (r * M + m) * b + j.
// Epoch e is the numbers [e * n, (e + 1) * n), n samples of the set, in an order that depends on
// (seed, e) alone (sampler.h). So the order of the data depends neither on the number of stages
// nor, for the same B and b, on the number of replicas. Each rank has its own Loader and reads only
// the fields that its stages need; ranks exchange no samples.
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
  std::vector<std::string> fields = {};  // those that this rank's stages read; may be empty
  // The name of the field with the targets of the loss, if it is not called "labels" or
  // "..._labels": its padding is -1. Empty: there is no other.
  std::string targets = {};
  int64_t micro_batch_size = 1;   // b
  int micro_batches = 1;          // M, of this replica
  int replica = 0, replicas = 1;  // r, counted from 0, and R
  uint64_t seed = 0;              // of the order and of all that is random in a sample
  bool shuffle = true;            // false: each epoch in the order of the set
  // True (training): epochs follow one another without end. False (evaluation): the samples once,
  // and then padding: -1 in labels and `targets`, so that no loss counts it, 0 in other fields.
  bool wrap = true;
  int prefetch = 2;          // steps that are read ahead
  int threads = 1;           // threads that read; batches do not depend on their number
  int64_t first_sample = 0;  // f: how many samples the steps before a resume have read
};

// How long and how often next() had to wait for data.
struct DataWaits {
  double seconds = 0.0;  // in total
  int64_t steps = 0;     // steps that were not ready when asked for, the first one not counted
};

class Loader {
 public:
  // Starts the threads. Memory for prefetch + 1 steps of batches is taken once from `host`, the
  // memory of the host (Purpose::Workspace), which must outlive the loader. Throws Error(Input) for
  // a field that the set does not have, and Error(Resource) where no thread can be started.
  Loader(std::shared_ptr<const Dataset> dataset, LoaderConfig config, Memory& host);
  ~Loader();  // stops the threads
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The M micro-batches of the next step, in order; valid until the next call. Waits for the
  // threads if the step is not there yet. If samples of the step cannot be read, throws what
  // reading the first of them threw.
  [[nodiscard]] std::span<const Batch> next();
  // How many steps cover the set once, the last one filled up with padding (for an evaluation).
  [[nodiscard]] int64_t steps_per_epoch() const;
  [[nodiscard]] const DataWaits& waits() const;  // so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock

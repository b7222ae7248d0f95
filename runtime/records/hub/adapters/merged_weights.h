// runtime/records/hub/adapters/merged_weights.h -- the weights of a checkpoint as evaluation uses
// them: averaged where the run has averages, with the adapters of a matrix added to it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/network/models/config.h"
#include "runtime/records/checkpoint/reader.h"

namespace penstock {

class MergedWeights {
 public:
  // `reader` outlives this. A rank of 0: nothing is added.
  MergedWeights(CheckpointReader& reader, const LoraConfig& lora) : reader_(reader), lora_(lora) {}

  // Overwrites all of `to` with numbers of a tensor of the model, from the `first` on: its average
  // where the checkpoint has one; for a matrix W with adapters W + (alpha / rank) B A, summed in
  // double and rounded once. Throws Error(Data) for adapters that do not fit the matrix.
  void read(const TensorInfo& tensor, size_t first, std::span<float> to);

 private:
  // Reads and keeps the adapters of this matrix, if it has some.
  void open(const TensorInfo& tensor);
  void add(size_t first, std::span<float> to) const;
  [[nodiscard]] std::vector<float> read_adapter(const std::string& name, size_t elements);

  CheckpointReader& reader_;
  LoraConfig lora_;
  std::string opened_;
  size_t columns_ = 0;        // of the matrix
  std::vector<float> a_, b_;  // [rank, columns], [rows, rank]; empty without adapters
};

// The name that evaluation reads for this tensor: "<name>.average" where the checkpoint has that.
[[nodiscard]] std::string averaged_name(const CheckpointReader& reader, const std::string& name);

}  // namespace penstock

// runtime/records/hub/adapters/merged_weights.h -- MergedWeights: the weights of a checkpoint as
// evaluation uses them: averaged where the run has averages, with adapters added to their matrices.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/network/models/config.h"
#include "runtime/records/checkpoint/reader.h"

namespace penstock {

class MergedWeights {
 public:
  // `reader` outlives this. Nothing is added where lora.rank is 0.
  MergedWeights(CheckpointReader& reader, const LoraConfig& lora) : reader_(reader), lora_(lora) {}

  // Overwrites `to` with numbers of a tensor of the weights, from number `first` on: its average
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
  std::vector<float> a_, b_;  // [lora.rank, columns], [rows, lora.rank]; empty without adapters
};

// The name that evaluation reads for this tensor: "<name>.average" where the checkpoint has that.
[[nodiscard]] std::string averaged_name(const CheckpointReader& reader, const std::string& name);

}  // namespace penstock

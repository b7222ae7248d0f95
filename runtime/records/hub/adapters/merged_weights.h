// runtime/records/hub/adapters/merged_weights.h -- MergedWeights: reads the weights of a checkpoint
// in the form in which they are evaluated and exported: as running averages where the run keeps
// averages, and with LoRA adapters added to the matrices that they belong to.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/network/models/config.h"
#include "runtime/records/checkpoint/reader.h"

namespace penstock {

class MergedWeights {
 public:
  // `reader` is the open checkpoint and must outlive this. `lora` has the run's adapter settings;
  // with lora.rank 0 no adapters are added.
  MergedWeights(CheckpointReader& reader, const LoraConfig& lora) : reader_(reader), lora_(lora) {}

  // Overwrites `to` with to.size() numbers of a tensor of the weights, from the one with the
  // row-major index `first` on. They are numbers of its average if the checkpoint has one. To a
  // matrix W with adapters A and B, (alpha / rank) B A is added, summed in double and rounded once.
  // A large tensor may be read in several calls; its adapters are read once. Throws Error(Data) for
  // adapters that do not fit the matrix.
  void read(const TensorInfo& tensor, size_t first, std::span<float> to);

 private:
  // Reads the adapters of this matrix, if it has some, to a_ and b_.
  void open(const TensorInfo& tensor);
  // Adds the product of a_ and b_ to numbers of the matrix from the index `first` on.
  void add(size_t first, std::span<float> to) const;
  [[nodiscard]] std::vector<float> read_adapter(const std::string& name, size_t elements);

  CheckpointReader& reader_;
  LoraConfig lora_;
  std::string opened_;  // the tensor whose adapters are in a_ and b_
  // Rows and columns of that matrix, or of one expert's.
  size_t rows_ = 0, columns_ = 0;
  // The rows of the adapter's B, of which the matrix has those from first_row_ on.
  size_t adapter_rows_ = 0, first_row_ = 0;
  // [lora.rank, columns], [adapter_rows_, lora.rank], of each expert; empty without adapters.
  std::vector<float> a_, b_;
};

// The name of the tensor to read for the weights `name`: "<name>.average" if the checkpoint has it,
// else `name`.
[[nodiscard]] std::string averaged_name(const CheckpointReader& reader, const std::string& name);

}  // namespace penstock

// runtime/records/hub/adapters/adapter_weights.h -- AdapterWeights: reads the weights of LoRA
// adapters from a folder made by Hugging Face's peft library, by the names that Penstock has for
// them; each rank reads only those of its own layers.
//
// The order of calls: the constructor, check(), then read() for each adapter tensor that this rank
// holds. Every method throws Error: of kind Input if the folder is not supported or belongs to
// another network, of kind Data if its file is damaged. Messages name the file, the tensor and what
// to do.
#pragma once

#include <span>
#include <string>

#include "kernels/device.h"
#include "runtime/records/checkpoint/format/safetensors.h"
#include "runtime/records/hub/names.h"
#include "runtime/records/hub/weights.h"

namespace penstock {

class AdapterWeights {
 public:
  // Opens adapter_model.safetensors and reads its header. read_adapter_config() (adapter_folder.h)
  // must have accepted `folder`. `family`: the family of the network, with its table of names; must
  // outlive this.
  AdapterWeights(const std::string& folder, const HubFamily& family);

  // Checks that the file has exactly the tensors `adapters`, which are those of the whole network,
  // in their shapes and of a type that can be read (F32, BF16, F16). Reads no numbers.
  void check(std::span<const HubTensor> adapters) const;

  // Overwrites `to`, a tensor of fp32 or bf16 on `device`, with the adapter tensor whose name in
  // Penstock is `ours`. For a GPU it takes a copy of this one tensor in host memory.
  void read(const std::string& ours, Tensor& to, Device& device) const;

 private:
  [[nodiscard]] const TensorInfo& find(const HubTensor& adapter) const;

  const HubFamily& family_;
  SafetensorsFile file_;
};

}  // namespace penstock

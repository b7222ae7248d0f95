// runtime/records/hub/adapters/adapter_weights.h -- AdapterWeights: reads the adapters of a folder
// as peft writes it, by our names; each rank reads those of its own layers.
#pragma once

#include <span>
#include <string>

#include "kernels/device.h"
#include "runtime/records/checkpoint/format/safetensors.h"
#include "runtime/records/hub/names.h"
#include "runtime/records/hub/weights.h"

namespace penstock {

// Throws Error: of kind Input where the folder is not supported or belongs to another network, of
// kind Data where its file is damaged. Messages name the file, the tensor, and what to do.
class AdapterWeights {
 public:
  // Reads the header of adapter_model.safetensors. read_adapter_config() has accepted `folder`;
  // `family` outlives this.
  AdapterWeights(const std::string& folder, const HubFamily& family);

  // Checks that the file has exactly these tensors, all of adapters, in their shapes and of a
  // supported type. Reads no numbers.
  void check(std::span<const HubTensor> adapters) const;

  // Overwrites `to`, fp32 or bf16 and row-major, with the adapter of our name `ours`. Where the
  // host cannot address the device's memory a copy of this one tensor is held meanwhile.
  void read(const std::string& ours, Tensor& to, Device& device) const;

 private:
  [[nodiscard]] const TensorInfo& find(const HubTensor& adapter) const;

  const HubFamily& family_;
  SafetensorsFile file_;
};

}  // namespace penstock

// runtime/records/hub/weights.h -- HubWeights: reads the weights of a Hugging Face folder by our
// names; each rank reads the ranges that it needs, straight to where they belong.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "runtime/records/checkpoint/format/safetensors.h"
#include "runtime/records/hub/names.h"

namespace penstock {

// A tensor of the network that is to be filled.
struct HubTensor {
  std::string name;  // ours
  std::vector<int64_t> shape;
};

// Throws Error: of kind Input where the folder is not supported, of kind Data where a file of it is
// damaged or missing. Messages name the file, the tensor, and what to do.
class HubWeights {
 public:
  // Reads the header of the file where one has all weights, else the index. read_hub_config() has
  // accepted `folder`; `family` outlives this.
  HubWeights(std::string folder, const HubFamily& family);

  // Reads all headers and checks that every tensor is there once, in its shape and a supported
  // dtype, and that none is left over. `tied`: the network has no classifier of its own; where the
  // folder has one it is compared with the embedding, and no other number is read.
  void check(std::span<const HubTensor> network, bool tied);

  // Announces the tensors that will be read, in their order: while one is read, the next are
  // fetched from the disk, a few MiB ahead. Reading others, or in another order, is only slower.
  void expect(std::vector<HubTensor> tensors);

  // Overwrites `to`, fp32 or bf16, row-major and of the shape that was checked. Where the host
  // cannot address the device's memory a copy of this one tensor is held meanwhile. Throws
  // Error(Data) for a number that is not finite.
  void read(const std::string& ours, Tensor& to, Device& device);

 private:
  [[nodiscard]] std::string path_of(const std::string& file) const { return folder_ + "/" + file; }
  void read_index();
  void read_single_file();
  // The name as the folder has it, with the family's prefix or without; empty when it is not there.
  [[nodiscard]] std::string name_in_folder(const std::string& theirs) const;
  [[nodiscard]] std::string why_not_there(const std::string& theirs) const;
  const SafetensorsFile& file_of(const std::string& theirs);
  // The bytes that a tensor of ours takes of one of theirs.
  struct Range {
    std::string name;
    uint64_t first = 0, size_bytes = 0;
  };
  [[nodiscard]] Range range_of(const HubTensor& tensor);
  void fetch_ahead(const std::string& ours);
  void check_headers();
  void check_head();
  void check_tensor(const HubTensor& tensor, const HubPlace& place);
  template <class T>  // float or bfloat16
  void read_numbers(const HubPlace& place, const Shape& shape, std::span<T> to);

  std::string folder_;
  const HubFamily& family_;
  bool sharded_ = false;
  std::map<std::string, std::string> files_;  // of each tensor, by the folder's name for it
  std::map<std::string, std::unique_ptr<SafetensorsFile>> open_;
  std::vector<HubTensor> expected_;
  size_t reading_ = 0, fetched_ = 0;  // how many expected_ are read or being read, and fetched
};

// Whether the folder has weights, in a supported form or another.
[[nodiscard]] bool has_hub_weights(const std::string& folder);

}  // namespace penstock

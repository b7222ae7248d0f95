// runtime/records/hub/weights.h -- HubWeights: reads the weights of a Hugging Face model folder
// (safetensors files) by the names that Penstock gives to tensors; each rank reads only the tensors
// that it needs.
//
// The order of calls: the constructor; check(), which one rank may do for all; then, if wanted,
// expect(); then read() for each tensor. "Ours" is a name of Penstock, "theirs" one in the folder
// (names.h). Every method throws Error: of kind Input if the folder is not supported, of kind Data
// if a file of it is damaged or missing. Messages name the file, the tensor and what to do.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "runtime/records/checkpoint/format/safetensors.h"
#include "runtime/records/hub/mxfp4.h"
#include "runtime/records/hub/names.h"

namespace penstock {

// A tensor of the network that is to be filled from the folder.
struct HubTensor {
  std::string name;            // ours
  std::vector<int64_t> shape;  // ours
};

class HubWeights {
 public:
  // Reads the header of model.safetensors or, if there is no such file, the index
  // model.safetensors.index.json, which says which tensor is in which file. read_hub_config() must
  // have accepted `folder`. `family` is its family; it must outlive this. `heads`: model.heads of
  // its network.
  HubWeights(std::string folder, const HubFamily& family, int64_t heads);

  // Reads the headers of all files and checks that the folder has the tensors of `network`, all
  // those of the whole network, in their shapes and of a type that can be read (F32, BF16, F16; of
  // experts MXFP4, too), and no others. `tied`: the classifier shares the embedding's weights; if
  // the folder has a classifier all the same, its numbers are compared with the embedding's. No
  // other numbers are read.
  void check(std::span<const HubTensor> network, bool tied);

  // Announces the tensors that will be read, in that order: while one is read, the next bytes are
  // fetched from the disk, a few MiB ahead. It makes read() faster and changes nothing else; other
  // tensors and other orders are allowed.
  void expect(std::vector<HubTensor> tensors);

  // Overwrites `to`, a tensor of fp32 or bf16 on `device` with the shape given to check(), with our
  // tensor `ours`, converted and transposed as needed. For a GPU it takes a copy of this one tensor
  // in host memory. Throws Error(Data) also for a number that is infinite or NaN.
  void read(const std::string& ours, Tensor& to, Device& device);

 private:
  [[nodiscard]] std::string path_of(const std::string& file) const { return folder_ + "/" + file; }
  void read_index();
  void read_single_file();
  // The name `theirs` as this folder has it, with the family's prefix or without; empty if absent.
  [[nodiscard]] std::string name_in_folder(const std::string& theirs) const;
  // A guess, for messages, why a tensor is missing.
  [[nodiscard]] std::string why_not_there(const std::string& theirs) const;
  // The file with that tensor, opened if it is not open.
  const SafetensorsFile& file_of(const std::string& theirs);
  // A range of bytes in one of their tensors: what is read for a tensor of ours.
  struct Range {
    std::string name;  // theirs
    uint64_t first = 0, size_bytes = 0;
  };
  [[nodiscard]] Range range_of(const HubTensor& tensor);
  // Fetches what comes after `ours` in expected_.
  void fetch_ahead(const std::string& ours);
  // Parts of check(): each file has what the index says; a stored classifier equals the embedding;
  // parts of several sizes fill their tensor; one tensor has the right shape and type.
  void check_headers();
  void check_head();
  void check_parts(std::span<const HubTensor> network);
  void check_tensor(const HubTensor& tensor, const HubPlace& place);
  // Whether the folder has this tensor in MXFP4 alone, and where.
  [[nodiscard]] bool is_packed(const HubPlace& place) const;
  [[nodiscard]] Mxfp4Tensor packed(const HubPlace& place);
  template <class T>  // float or bfloat16
  void read_numbers(const HubPlace& place, const Shape& shape, std::span<T> to);

  std::string folder_;
  const HubFamily& family_;
  int64_t heads_;
  bool sharded_ = false;                      // there is an index and not a single file
  std::map<std::string, std::string> files_;  // by their name of a tensor: the file that has it
  std::map<std::string, std::shared_ptr<SafetensorsFile>> open_;  // by file name
  std::vector<HubTensor> expected_;                               // by expect()
  // How many of expected_ have been read or are being read, and how many have been fetched.
  size_t reading_ = 0, fetched_ = 0;
};

// Whether the folder has files of weights, in a format that can be read here or in another.
[[nodiscard]] bool has_hub_weights(const std::string& folder);

}  // namespace penstock

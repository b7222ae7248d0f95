// runtime/records/checkpoint/format/safetensors.h -- write_safetensors() and SafetensorsFile: write
// tensors to a file in Hugging Face's safetensors format, and read them back, whole or in part.
//
// Checkpoints and folders of published models both use this format (safetensors_header.h describes
// it). Numbers are stored in row-major order, little-endian.
#pragma once

#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/device.h"
#include "runtime/records/checkpoint/format/file.h"
#include "runtime/records/checkpoint/format/safetensors_header.h"
#include "runtime/system/files/input_file.h"

namespace penstock {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// Writes a new file with the tensors and returns when it is on disk. `metadata` are free texts by
// key. `device` is the device whose memory the tensors are in; null: the host's. Tensors in a GPU's
// memory are copied through a buffer of a few MiB. Throws Error(Resource) naming the path.
FileDigest write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                             const std::map<std::string, std::string>& metadata, Device* device);

// An open file for reading. Everywhere below, `name` is the name of a tensor in it. All read...()
// functions throw Error(Input) naming file and tensor when there is no tensor of that name,
// Error(Internal) for a range that leaves the tensor, Error(Data) when the file has become shorter,
// and Error(Resource) when the system cannot read it.
class SafetensorsFile {
 public:
  // Opens the file and checks its header. `owner` Run: the file is a run's own and must not be a
  // symbolic link; a user's file may be one, as those in the Hugging Face cache are. Throws
  // Error(Data) naming the file if it is damaged.
  explicit SafetensorsFile(const std::string& path, FileOwner owner = FileOwner::Run);

  [[nodiscard]] const std::string& path() const { return file_.path(); }
  [[nodiscard]] const std::vector<TensorInfo>& tensors() const { return header_.tensors; }
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const {
    return header_.metadata;
  }
  // Null when there is no such tensor.
  [[nodiscard]] const TensorInfo* find(const std::string& name) const;

  // Overwrites `to` with the whole tensor, without converting it. Throws Error(Input) also when its
  // size in bytes (first form), or its dtype or shape (second form), is not that of `to`.
  void read(const std::string& name, std::span<std::byte> to) const;
  void read(const std::string& name, Tensor& to, Device& device) const;
  // Overwrites `to` with to.elements() elements of the tensor, from the element with the row-major
  // index `first` on. Throws Error(Input) also when the tensor's shape is not `whole`, or its dtype
  // not that of `to`.
  void read_part(const std::string& name, const Shape& whole, int64_t first, Tensor& to,
                 Device& device) const;
  // Overwrites `to` with to.size() bytes of the tensor, from its byte `first` on.
  void read(const std::string& name, uint64_t first, std::span<std::byte> to) const;
  // Asks the operating system to read a part of the tensor's bytes, from its byte `first` on, into
  // the page cache. Returns at once.
  void will_read(const std::string& name, uint64_t first, uint64_t size_bytes) const;

 private:
  [[nodiscard]] const TensorInfo& get(const std::string& name) const;

  InputFile file_;
  SafetensorsHeader header_;
  uint64_t data_begin_ = 0;                        // where in the file the tensors' data begin
  std::unordered_map<std::string, size_t> index_;  // into header_.tensors
};

}  // namespace penstock

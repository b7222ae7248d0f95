// runtime/records/checkpoint/format/safetensors.h -- tensors to and from one safetensors file.
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

// Writes a new file and returns when it is on disk. `device`: whose memory the tensors are in;
// null: the host's. Tensors that the host cannot address pass through a buffer of a few MiB: there
// is never a second copy of the weights.
FileDigest write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                             const std::map<std::string, std::string>& metadata, Device* device);

// An open file whose header has been checked (see parse_safetensors_header).
class SafetensorsFile {
 public:
  // A run's own file is no symbolic link; a user's may be one, as in the cache of the Hub.
  explicit SafetensorsFile(const std::string& path, FileOwner owner = FileOwner::Run);

  [[nodiscard]] const std::string& path() const { return file_.path(); }
  [[nodiscard]] const std::vector<TensorInfo>& tensors() const { return header_.tensors; }
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const {
    return header_.metadata;
  }
  // Null when there is no such tensor.
  [[nodiscard]] const TensorInfo* find(const std::string& name) const;

  // The tensor's bytes, row-major and little-endian. Throws Error(Input) naming file and
  // tensor when there is none, or its dtype or shape (or size) is another one.
  void read(const std::string& name, std::span<std::byte> to) const;
  void read(const std::string& name, Tensor& to, Device& device) const;
  // Fills `to` with the elements from `first` on of a tensor whose shape is `whole`.
  void read_part(const std::string& name, const Shape& whole, int64_t first, Tensor& to,
                 Device& device) const;
  // A part of the tensor's bytes, from `first` on.
  void read(const std::string& name, uint64_t first, std::span<std::byte> to) const;
  // InputFile::will_read() for a part of the tensor's bytes.
  void will_read(const std::string& name, uint64_t first, uint64_t size_bytes) const;

 private:
  [[nodiscard]] const TensorInfo& get(const std::string& name) const;

  InputFile file_;
  SafetensorsHeader header_;
  uint64_t data_begin_ = 0;
  std::unordered_map<std::string, size_t> index_;  // into header_.tensors
};

}  // namespace penstock

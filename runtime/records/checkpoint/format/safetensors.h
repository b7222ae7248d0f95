// runtime/records/checkpoint/format/safetensors.h -- writes tensors to a safetensors file, and
// reads them back (SafetensorsFile).
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

// An open file, whose header the constructor has checked. Throws Error(Data) naming the file for
// one that is damaged.
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

  // Overwrites `to` with the tensor's bytes, row-major and little-endian. Throws Error(Input)
  // naming file and tensor when there is none, or when its dtype, shape or size is not that of
  // `to`.
  void read(const std::string& name, std::span<std::byte> to) const;
  void read(const std::string& name, Tensor& to, Device& device) const;
  // Overwrites `to` with elements of a tensor whose shape is `whole`, from element `first` on.
  void read_part(const std::string& name, const Shape& whole, int64_t first, Tensor& to,
                 Device& device) const;
  // Overwrites `to` with a part of the tensor's bytes, from byte `first` on.
  void read(const std::string& name, uint64_t first, std::span<std::byte> to) const;
  // Has the system fetch a part of the tensor's bytes, from byte `first` on, into its page cache.
  void will_read(const std::string& name, uint64_t first, uint64_t size_bytes) const;

 private:
  [[nodiscard]] const TensorInfo& get(const std::string& name) const;

  InputFile file_;
  SafetensorsHeader header_;
  uint64_t data_begin_ = 0;
  std::unordered_map<std::string, size_t> index_;  // into header_.tensors
};

}  // namespace penstock

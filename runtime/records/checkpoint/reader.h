// runtime/records/checkpoint/reader.h -- CheckpointReader: the tensors of a checkpoint by name, for
// a rank that may hold quite another part of the model than the ranks that wrote it.
//
// Opening reads the small documents only. A shard is opened and its checksum compared before its
// first tensor is read, so a rank touches just the shards it needs. Everything wrong with the
// files throws Error(Data) naming the file.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "runtime/records/checkpoint/format/safetensors.h"
#include "runtime/records/checkpoint/manifest.h"

namespace penstock {

enum class ShardCheck : uint8_t {
  BeforeReading,  // each shard is checked before its first tensor is read
  ByCaller,       // the caller calls verify(part, parts) on several ranks, so that no rank reads
                  // whole shards for a few tensors of them
};

class CheckpointReader {
 public:
  explicit CheckpointReader(std::string directory, ShardCheck check = ShardCheck::BeforeReading);

  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] const CheckpointState& state() const { return state_; }
  [[nodiscard]] bool contains(const std::string& name) const { return file_of_.contains(name); }

  struct Stored {
    TensorInfo tensor;
    std::string file;
  };
  // The tensors of the weights, and of the optimizer state, by name. Both read all shards' headers.
  [[nodiscard]] std::vector<Stored> model() const { return list(model_); }
  [[nodiscard]] std::vector<Stored> optimizer() const { return list(optimizer_); }

  // Overwrites `to`, fp32 or bf16, with a tensor of the weights, saved as either of the two.
  void read(const std::string& name, Tensor& to, Device& device);
  // Overwrites `to` with numbers of a tensor of the weights as fp32, from number `first` on.
  void read_numbers(const std::string& name, size_t first, std::span<float> to);
  // The following read bytes, and elements of a tensor of the shape `whole`, from `first` on, as
  // the functions of SafetensorsFile with these names do.
  void read(const std::string& name, std::span<std::byte> to);
  void read(const std::string& name, uint64_t first, std::span<std::byte> to);
  void read_part(const std::string& name, const Shape& whole, int64_t first, Tensor& to,
                 Device& device);

  // Compares size and checksum of every file, or of every parts-th one, in the order of names, from
  // number `part` on: so `parts` ranks together read each file once.
  void verify(size_t part = 0, size_t parts = 1) const;

 private:
  [[nodiscard]] std::string path_of(const std::string& file) const {
    return directory_ + "/" + file;
  }
  [[nodiscard]] std::string read_document(const std::string& file) const;
  [[nodiscard]] ShardIndex read_index(const std::string& part);
  [[nodiscard]] std::vector<Stored> list(const ShardIndex& index) const;
  void verify(const std::string& file) const;
  const SafetensorsFile& shard_of(const std::string& name);

  std::string directory_;
  ShardCheck check_;
  Manifest manifest_;
  CheckpointState state_;
  ShardIndex model_, optimizer_;
  std::map<std::string, std::string> file_of_;                      // of both indexes
  std::map<std::string, std::unique_ptr<SafetensorsFile>> shards_;  // the open ones
};

}  // namespace penstock

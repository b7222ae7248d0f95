// runtime/records/checkpoint/reader.h -- CheckpointReader: opens a checkpoint and reads tensors
// from it by name.
//
// A rank reads only the tensors that it needs, which may be others than those of the rank that
// wrote them: the number of stages may have changed. The constructor reads the small JSON files. A
// shard (one of the safetensors files) is opened, and its checksum compared, when its first tensor
// is read. Everything wrong with the files, a missing tensor too, throws Error(Data) naming the
// file; a tensor that has not the shape, size or type that a read...() asks for throws Error(Input)
// naming it.
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

// Who compares the checksums of shards, for which each must be read as a whole.
enum class ShardCheck : uint8_t {
  BeforeReading,  // the reader: each shard before its first tensor is read
  // The caller, by verify(part, parts) on several ranks, each of which checks some of the files:
  // better where each rank needs only a few tensors of many shards.
  ByCaller,
};

class CheckpointReader {
 public:
  // `directory` is one checkpoint, "<run>/checkpoints/step-00000100".
  explicit CheckpointReader(std::string directory, ShardCheck check = ShardCheck::BeforeReading);

  [[nodiscard]] const std::string& directory() const { return directory_; }
  // state.json: step, configuration, ...
  [[nodiscard]] const CheckpointState& state() const { return state_; }
  // Whether there is a tensor of that name, of the weights or of the optimizer state.
  [[nodiscard]] bool contains(const std::string& name) const { return file_of_.contains(name); }

  // A tensor in the checkpoint.
  struct Stored {
    TensorInfo tensor;
    std::string file;  // the name of its shard
  };
  // All tensors of the weights, and of the optimizer state, sorted by name. Both functions open all
  // shards to read their headers.
  [[nodiscard]] std::vector<Stored> model() const { return list(model_); }
  [[nodiscard]] std::vector<Stored> optimizer() const { return list(optimizer_); }

  // Overwrites `to`, a tensor of fp32 or bf16 on `device`, with a tensor of the weights of the same
  // shape, which may have been saved as the other of the two types.
  void read(const std::string& name, Tensor& to, Device& device);
  // Overwrites `to` with to.size() numbers of a tensor of the weights, converted to fp32, from the
  // one with the row-major index `first` on.
  void read_numbers(const std::string& name, size_t first, std::span<float> to);
  // The next three read without converting: all bytes; bytes from byte `first` on; elements from
  // element `first` on of a tensor whose shape must be `whole`. See SafetensorsFile.
  void read(const std::string& name, std::span<std::byte> to);
  void read(const std::string& name, uint64_t first, std::span<std::byte> to);
  void read_part(const std::string& name, const Shape& whole, int64_t first, Tensor& to,
                 Device& device);

  // Reads files and compares their sizes and checksums with the manifest: of the files in the order
  // of their names, those with the numbers part, part + parts, part + 2 parts, ... (from 0). So
  // `parts` ranks with part = 0 .. parts - 1 together read each file once.
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
  std::map<std::string, std::string> file_of_;  // by tensor name: its shard, from both indexes
  std::map<std::string, std::unique_ptr<SafetensorsFile>> shards_;  // by file name: the open ones
};

}  // namespace penstock

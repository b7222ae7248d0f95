// runtime/checkpoint/checkpoint.h -- saving a checkpoint: complete or absent, never half.
//
//   step-00000100/
//     model-00001-of-0000K.safetensors       weights, one shard per rank that brings some
//     model.safetensors.index.json           name -> shard, the Hugging Face layout
//     optimizer-00001-of-0000K.safetensors   optimizer state and weight averages, with its own
//     optimizer.safetensors.index.json       index; absent when there is no such state
//     state.json                             step, seed, samples consumed, configuration
//     manifest.json                          size and checksum of every file above
//
// Every rank writes its shards at the same time into a hidden directory, which rank 0 renames when
// everything is on disk. Names and values do not depend on how many ranks wrote them. Knows nothing
// of stages: it is given named tensors. runtime/checkpoint/reader.h reads it back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/safetensors.h"
#include "runtime/comm/network.h"

namespace penstock {

struct CheckpointRequest {
  std::string root;  // "<run>/checkpoints", made when missing
  int keep = 0;      // this one and the keep - 1 others of the highest steps stay; 0: all
  CheckpointState state;
  // What this rank writes: every name of the model on exactly one rank. Empty on replicas but 0.
  std::vector<NamedTensor> model;
  std::vector<NamedTensor> optimizer;
};

struct CheckpointResult {
  std::string path;         // "<root>/step-00000100"
  uint64_t size_bytes = 0;  // of all its files
  std::string warning;      // why an old checkpoint could not be removed; empty: all is well
};

// Collective over `world`; root, keep and state count on rank 0 only. Returns the same on every
// rank once the checkpoint is complete, and throws the same Error everywhere when it is not: a full
// disk on one rank is an Error(Resource) on all, naming rank and path. Then the partial directory
// is gone and earlier checkpoints, also one of this step, are as they were.
CheckpointResult save_checkpoint(const CheckpointRequest& request, Collective& world,
                                 Device& device);

}  // namespace penstock

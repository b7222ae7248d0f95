// runtime/records/checkpoint/checkpoint.h -- what a checkpoint is on disk, and CheckpointRequest:
// what each rank gives to CheckpointWriter (writer/checkpoint_writer.h) to have one written.
//
//   step-00000100/
//     model-00001-of-0000N.safetensors       weights: a shard for every layer that has some
//     model.safetensors.index.json           tensor name -> shard, the Hugging Face layout
//     optimizer-00001-of-0000N.safetensors   optimizer state and weight averages, with an index of
//     optimizer.safetensors.index.json       their own; absent when there is no such state
//     state.json                             step, seed, samples consumed, configuration, run
//     manifest.json                          size and checksum of every file above
//   latest -> step-00000100                  the newest one (layout.h)
//   best -> step-00000080                    the best one, where one is looked for (best.h)
//
// A checkpoint holds tensors by name and knows nothing of stages. A shard is a file with tensors of
// one layer (writer/shards.h), so its bytes are the same for every number of stages and replicas
// and every schedule, and a run may go on with others. All ranks write shards at the same time,
// into a hidden directory; rank 0 gives it its name when all files are on disk. So a checkpoint is
// complete or absent. reader.h reads one back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/format/safetensors.h"
#include "runtime/records/checkpoint/manifest.h"

namespace penstock {

class Collective;  // runtime/system/comm/network.h

// Says which older checkpoints of a run are kept when a new one is complete: those that any of the
// members keeps. All others are removed.
struct Retention {
  int keep = 0;  // the newest so many; 0: all
  // The first checkpoint at or after each multiple of so many steps, for ever; 0: none.
  int64_t keep_every = 0;
  // The step of the last audit (run.audit: a search for silent hardware errors) that found nothing
  // wrong; 0: none. The newest checkpoint up to that step is kept, since a later one may hold
  // errors that no audit has looked for yet.
  int64_t audited = 0;
  // Whether the best one is kept (best.h), and the link `best` leads to it.
  bool best = false;
};

// A tensor to save, of the network's weights or of its optimizer state, or one replica's part of
// it.
struct PlacedTensor {
  NamedTensor named;  // the whole tensor, or this replica's part as a 1-d tensor
  int64_t layer = 0;  // the layer that it belongs to, numbered over the whole network
  // Only where the replicas share the tensor: the shape of the whole tensor, and where it is cut.
  // Replica r has the elements [cuts[r], cuts[r + 1]), in row-major order. No cuts: every replica
  // has the whole tensor.
  Shape whole = {};
  std::vector<int64_t> cuts = {};

  [[nodiscard]] bool is_part() const { return !cuts.empty(); }
  // Shape and bytes of the whole tensor, even where `named` is a part.
  [[nodiscard]] Shape shape() const { return is_part() ? whole : named.tensor.shape(); }
  [[nodiscard]] uint64_t size_bytes() const {
    return static_cast<uint64_t>(shape().elements()) * size_of(named.tensor.dtype());
  }
};

// What one rank asks for. Of root, retention and state only the values on rank 0 count.
struct CheckpointRequest {
  std::string root;  // the directory of all checkpoints, "<run>/checkpoints"; made when missing
  Retention retention = {};
  CheckpointState state = {};  // all that state.json holds: step, configuration, ... (manifest.h)
  // The tensors that this rank holds, with their current values: those of the network (`model`) and
  // of the optimizer. A tensor is on the ranks of one stage only. Either each replica of that stage
  // has the whole tensor, with the same bits, or each has a part (PlacedTensor::cuts). The replicas
  // share the stage's shards (files) out for writing; for a tensor in parts, the one that writes it
  // first gets the other replicas' parts, by `between_replicas`. So files have whole tensors.
  std::vector<PlacedTensor> model = {};
  std::vector<PlacedTensor> optimizer = {};
  int replica = 0, replicas = 1;  // the number of this rank's replica, and how many there are
  // The ranks that hold the same stage in all replicas. May be null if no tensor is in parts.
  Collective* between_replicas = nullptr;
};

// The same on every rank.
struct CheckpointResult {
  std::string path;         // "<root>/step-00000100"
  uint64_t size_bytes = 0;  // of all its files
  std::string warning;      // why an older checkpoint could not be removed; empty: all were
};

}  // namespace penstock

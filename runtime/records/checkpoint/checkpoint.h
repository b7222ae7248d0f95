// runtime/records/checkpoint/checkpoint.h -- what a checkpoint is, and what a run asks for when it
// wants one.
//
//   step-00000100/
//     model-00001-of-0000N.safetensors       weights: a shard for every layer that has some
//     model.safetensors.index.json           name -> shard, the Hugging Face layout
//     optimizer-00001-of-0000N.safetensors   optimizer state and weight averages, with its own
//     optimizer.safetensors.index.json       index; absent when there is no such state
//     state.json                             step, seed, samples consumed, configuration, run
//     manifest.json                          size and checksum of every file above
//   latest -> step-00000100                  the newest one (layout.h)
//
// Shards are cut by the network alone (writer/shards.h), so their bytes depend neither on stages
// and replicas nor on schedule and recompute mode. All ranks write some at the same time, into a
// hidden directory that rank 0 renames when everything is on disk. What is saved is named tensors;
// stages play no part here. writer/checkpoint_writer.h writes it, reader.h reads it back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/format/safetensors.h"
#include "runtime/records/checkpoint/manifest.h"

namespace penstock {

class Collective;  // runtime/system/comm/network.h

// The checkpoints of a run that stay when a new one is complete: the newest ones, milestones, and
// the newest that an audit vouches for.
struct Retention {
  int keep = 0;  // how many of the newest; 0: all
  // Milestones, which stay for ever: the first checkpoint from each multiple of `keep_every` steps
  // on; 0: none.
  int64_t keep_every = 0;
  // The step of the last audit that found nothing (run.audit): the newest checkpoint up to it
  // stays, since a later one may hold what no audit has looked at yet. 0: there was none.
  int64_t audited = 0;
};

// A tensor to save, of the network or of its optimizer state, or this replica's part of one.
struct PlacedTensor {
  NamedTensor named;
  int64_t layer = 0;  // its layer, numbered over the whole network
  // Set where replicas share the tensor out: the shape of the whole tensor, of which replica r has
  // elements [cuts[r], cuts[r + 1]); `named` is this replica's part of it, 1-d. No cuts: every
  // replica has the whole tensor.
  Shape whole = {};
  std::vector<int64_t> cuts = {};

  [[nodiscard]] bool is_part() const { return !cuts.empty(); }
  [[nodiscard]] Shape shape() const { return is_part() ? whole : named.tensor.shape(); }
  [[nodiscard]] uint64_t size_bytes() const {
    return static_cast<uint64_t>(shape().elements()) * size_of(named.tensor.dtype());
  }
};

struct CheckpointRequest {
  std::string root;  // "<run>/checkpoints", made when missing
  Retention retention = {};
  CheckpointState state = {};
  // The tensors that this rank holds. Each is on one stage only, and there on every replica with
  // the same bits, or in parts. Each replica writes some of the shards, in which tensors are whole.
  std::vector<PlacedTensor> model = {};
  std::vector<PlacedTensor> optimizer = {};
  int replica = 0, replicas = 1;
  Collective* between_replicas = nullptr;  // of this stage; may be null where there are no parts
};

struct CheckpointResult {
  std::string path;         // "<root>/step-00000100"
  uint64_t size_bytes = 0;  // of all its files
  std::string warning;      // why something old could not be removed; empty: all is well
};

}  // namespace penstock

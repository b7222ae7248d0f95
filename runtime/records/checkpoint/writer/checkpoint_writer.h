// runtime/records/checkpoint/writer/checkpoint_writer.h -- CheckpointWriter: all ranks together
// write a checkpoint, while training goes on or at once.
//
// Writing has two phases, each in a thread of the rank: every rank writes its shards; then rank 0
// writes the documents over them, gives the checkpoint its name and removes what is obsolete. The
// ranks enter the second phase together, when none is busy any more: the caller tells the ranks of
// each other's busy() in a message that they exchange anyway.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "runtime/records/checkpoint/checkpoint.h"
#include "runtime/records/checkpoint/writer/background.h"
#include "runtime/records/checkpoint/writer/shards.h"
#include "runtime/records/checkpoint/writer/snapshot.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// Every collective call is over all ranks of `world`. Errors of any rank are thrown on all, as
// Error(Resource) or what else the rank met, with ErrorScope::EveryRank, naming rank and path: a
// full disk, say. Then the partial directory is gone, earlier checkpoints, also one of this step,
// are as they were, and the next may begin.
class CheckpointWriter {
 public:
  // Both must outlive this.
  CheckpointWriter(Collective& world, Device& device);
  // Asks the threads to end early and waits for them; what is not complete then goes.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Collective. Begins a checkpoint, from a copy of the tensors (Snapshot), which may change
  // afterwards. Root, retention and state count on rank 0 only. None may be under way.
  void begin(const CheckpointRequest& request);
  // Whether a checkpoint is under way, the same on every rank.
  [[nodiscard]] bool under_way() const { return phase_ != Phase::Idle; }
  // Whether a thread of this rank has something to do.
  [[nodiscard]] bool busy() const { return work_.busy(); }
  // Collective, when one is under way and no rank is busy, or waits for those that are. Begins the
  // next phase; after the last one returns the checkpoint, which is complete then.
  [[nodiscard]] std::optional<CheckpointResult> advance();
  // Collective: advances until the one under way, if any, is complete.
  std::optional<CheckpointResult> finish();

  // Collective: a checkpoint that is complete when this returns, without a copy of anything that
  // replicas do not share out, where the host reads the device's memory.
  CheckpointResult save(const CheckpointRequest& request);

  // Bytes of host memory that the copy takes.
  [[nodiscard]] int64_t snapshot_bytes() const { return snapshot_.size_bytes(); }

 private:
  enum class Phase : uint8_t { Idle, Shards, Documents };
  struct Order {  // what this rank writes
    std::string directory;
    std::vector<Shard> shards;
    std::vector<std::string> files;  // of the shards
    bool is_in_parts = false;        // some of their tensors were put together from parts
  };
  [[nodiscard]] Order agree(const CheckpointRequest& request);
  [[nodiscard]] bool takes_copies(Order& order);
  void publish();

  Collective& world_;
  Device& device_;
  Snapshot snapshot_;
  Phase phase_ = Phase::Idle;
  CheckpointRequest request_;  // without its tensors
  std::string directory_, prefix_;
  Background work_;
};

}  // namespace penstock

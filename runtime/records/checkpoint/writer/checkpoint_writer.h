// runtime/records/checkpoint/writer/checkpoint_writer.h -- CheckpointWriter: all ranks together
// write a checkpoint, while training goes on or at once.
//
// Writing has two phases, each in a thread: first every rank writes its shards; then rank 0 writes
// the documents over them, gives the checkpoint its name and removes what is obsolete. The ranks
// enter the second phase together, in advance(), when none is busy any more: callers tell each
// other their busy() in a message that they exchange anyway.
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

// Every collective call is over all ranks of `world`. An error of one rank, such as a full disk, is
// thrown on all, with its kind, ErrorScope::EveryRank, rank and path. Then the partial directory is
// gone, earlier checkpoints, also one of this step, are as they were, and the next may begin.
class CheckpointWriter {
 public:
  // Both must outlive this.
  CheckpointWriter(Collective& world, Device& device);
  // Asks this rank's thread to end early and waits for it; a checkpoint that is not complete then
  // is given up.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Collective. Begins a checkpoint from a copy (Snapshot) of the tensors, which may change
  // afterwards. No other may be under way. Root, retention and state count on rank 0 only.
  void begin(const CheckpointRequest& request);
  // Whether a checkpoint is under way, the same on every rank.
  [[nodiscard]] bool under_way() const { return phase_ != Phase::Idle; }
  // Whether this rank's thread is still at work.
  [[nodiscard]] bool busy() const { return work_.busy(); }
  // Collective, when a checkpoint is under way; waits for ranks that are busy. Begins the second
  // phase and returns nothing; or, after that phase, returns the checkpoint, which is complete.
  [[nodiscard]] std::optional<CheckpointResult> advance();
  // Collective. Advances until the checkpoint under way, if any, is complete, and returns it.
  std::optional<CheckpointResult> finish();

  // Collective. Writes a checkpoint that is complete when this returns. Where the host can address
  // the device's memory only tensors that replicas share out are copied.
  CheckpointResult save(const CheckpointRequest& request);

  // Bytes of host memory that the Snapshot takes.
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

// runtime/records/checkpoint/writer/checkpoint_writer.h -- CheckpointWriter: writes a checkpoint
// (checkpoint.h) of all ranks, either while training goes on or at once.
//
// While training goes on: begin() copies the tensors to host memory, and each rank writes its
// shards (files of tensors) in a thread. When no rank's thread is busy() any more, advance() starts
// the second phase, in which a thread of rank 0 writes the JSON files, gives the checkpoint its
// final name and removes older checkpoints. A second advance() returns the result.
//
//   begin(); ... training steps, until busy() is false on all ranks ... advance();
//            ... training steps, until busy() is false on all ranks ... advance() -> result
//
// busy() is about this rank alone. The training loop tells the others in a message that it sends in
// each step anyway, so that all ranks call advance() in the same step.
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

// Calls that are called collective must be made by all ranks of `world`. An error of one rank, such
// as a full disk, is thrown on all ranks by the call that learns of it, as an Error of the same
// kind with ErrorScope::EveryRank; its text names rank and path. Then the unfinished checkpoint is
// removed, older ones (even one of the same step) are untouched, and the next may begin.
class CheckpointWriter {
 public:
  // `world`: all ranks of the run. `device`: where the tensors are. Both must outlive this.
  CheckpointWriter(Collective& world, Device& device);
  // Asks this rank's thread to end early and waits for it. An unfinished checkpoint is removed.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Collective. Copies the tensors (Snapshot), which may then change, and starts to write the copy.
  // No other checkpoint may be under way. Of request.root, retention and state only the values on
  // rank 0 count.
  void begin(const CheckpointRequest& request);
  // Whether a checkpoint was begun and is not complete; the same on every rank.
  [[nodiscard]] bool under_way() const { return phase_ != Phase::Idle; }
  // Whether this rank's thread is still at work.
  [[nodiscard]] bool busy() const { return work_.busy(); }
  // Collective, only while a checkpoint is under way. Blocks while any rank is busy. The first call
  // starts the second phase and returns null. The second call returns the result: the checkpoint is
  // complete.
  [[nodiscard]] std::optional<CheckpointResult> advance();
  // Collective. Calls advance() until no checkpoint is under way, and returns the result; null if
  // none was.
  std::optional<CheckpointResult> finish();

  // Collective, in place of begin() and advance(). Blocks until the checkpoint is complete. It
  // needs less memory: where the host can address the device's memory, only tensors of which each
  // replica has a part are copied.
  CheckpointResult save(const CheckpointRequest& request);

  // Gives back the memory of the copies, where no checkpoint is under way: the next one takes it
  // again.
  void release_copies() { snapshot_.release(); }
  // The bytes of host memory that the copies take on this rank.
  [[nodiscard]] int64_t snapshot_bytes() const { return snapshot_.size_bytes(); }

 private:
  enum class Phase : uint8_t { Idle, Shards, Documents };
  // What this rank writes.
  struct Order {
    std::string directory;
    std::vector<Shard> shards;
    std::vector<std::string> files;  // the name of each shard's file
    bool is_in_parts = false;        // some tensors were put together from the replicas' parts
  };
  // Collective. Rank 0 makes the directory, all agree on the names of files, and tensors that are
  // in parts are put together on the rank that writes them.
  [[nodiscard]] Order agree(const CheckpointRequest& request);
  // Copies the tensors. False: there was too little memory, which wait() then reports as an error.
  [[nodiscard]] bool takes_copies(Order& order);
  // Collective. Starts the second phase.
  void publish();

  Collective& world_;
  Device& device_;
  Snapshot snapshot_;
  Phase phase_ = Phase::Idle;
  CheckpointRequest request_;       // without its tensors
  std::string directory_, prefix_;  // of the files, and of error messages ("cannot save ...: ")
  Background work_;
};

}  // namespace penstock

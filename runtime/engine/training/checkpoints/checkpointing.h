// runtime/engine/training/checkpoints/checkpointing.h -- Checkpointing: writes a run's checkpoints
// when they are due, while training goes on, and decides what follows when one cannot be written.
//
// Every rank has one. A checkpoint is due every checkpoint.every steps or every checkpoint.minutes
// minutes, and with checkpoint.best after each evaluation that is the best so far. Training stands
// still only while each rank copies its part of the state to memory; a thread then writes the copy
// to disk. All decisions are taken together: what one rank alone knows (its clock, its writing
// thread) travels with the votes of the step (step_vote.h), and Run calls after_step() with the
// result.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "runtime/engine/training/checkpoints/saver.h"
#include "runtime/engine/training/step_vote.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/records/checkpoint/writer/checkpoint_writer.h"
#include "runtime/records/telemetry/records.h"
#include "runtime/system/comm/station.h"

namespace penstock {

class Checkpointing {
 public:
  // Tells the user one line, on rank 0.
  using Note = std::function<void(const std::string& line)>;
  // All arguments but `note` must outlive this. `station`: which rank this is, with its network,
  // its place in stages x replicas and its device.
  Checkpointing(const Config& config, Saver& saver, const Station& station, Note note);

  // This rank's StepVote::checkpoint: on rank 0, whether a checkpoint is due by its clock
  // (checkpoint.minutes); elsewhere false.
  [[nodiscard]] bool is_time() const;
  // Whether a checkpoint has been begun and is not complete; the same on every rank.
  [[nodiscard]] bool under_way() const { return writer_.under_way(); }
  // Whether that one is of the best evaluation so far.
  [[nodiscard]] bool writes_best() const { return under_way() && best_is_last_; }
  // This rank's StepVote::writing: whether a thread of this rank is writing.
  [[nodiscard]] bool writes() const { return writer_.busy(); }
  // Whether after_step() will begin a checkpoint; the same on every rank.
  [[nodiscard]] bool is_due(const Progress& progress, const StepVote& vote) const;
  // Called after every step with the vote of all ranks; collective. Goes on with the checkpoint
  // under way and begins one that is due. Where another is still under way then, training waits
  // until that one is complete, if the new one is due by steps or as the best; one that is due by
  // minutes begins later instead. When a checkpoint cannot be written, throws Error on every rank
  // (of kind Resource for a full disk, say) or, with checkpoint.on_error = "continue", notes it,
  // and the next that is due is the next try.
  void after_step(const Progress& progress, const StepVote& vote);
  // Writes a checkpoint of the step last taken and returns when it is complete; does nothing where
  // that checkpoint is complete already. Collective. Throws Error on every rank when it cannot be
  // written, whatever checkpoint.on_error says.
  void save(const Progress& progress);
  // Called when there are no more steps: waits for the checkpoint under way, if any. Collective.
  // Throws as after_step() does.
  void finish();

  // How many checkpoints are complete, their size, and how long training stood still for each: for
  // the summary.
  [[nodiscard]] CheckpointRecord record() const;
  // The longest that a checkpoint has taken from its beginning until it was complete, in seconds;
  // 0: none is complete yet.
  [[nodiscard]] double longest_seconds() const { return longest_s_; }
  // Gives back the memory of the copies, where their tensors are no longer this rank's. Called
  // after finish().
  void release_copies() { writer_.release_copies(); }
  // Bytes of host memory that this rank holds for copies of its tensors.
  [[nodiscard]] int64_t snapshot_bytes() const { return writer_.snapshot_bytes(); }

 private:
  using Clock = std::chrono::steady_clock;
  // Begins a checkpoint.
  void begin(const Progress& progress);
  // Counts a complete checkpoint.
  void completed(const CheckpointResult& result);
  // Does `work`; with checkpoint.on_error = "continue" an error becomes a note.
  void attempt(const std::function<void()>& work);

  const CheckpointConfig& config_;
  Saver& saver_;
  Network& network_;
  Note note_;
  CheckpointWriter writer_;
  Clock::time_point last_begun_ = Clock::now();
  int64_t last_step_ = 0;      // the step of the checkpoint begun last
  bool best_is_last_ = false;  // that one is of the best evaluation so far
  int64_t complete_step_ = 0;  // the step of the last complete checkpoint
  bool noted_ = false;  // the user was told that checkpoints take longer than the time between two
  int64_t count_ = 0;   // complete checkpoints
  int64_t begun_ = 0;   // those begun by after_step()
  double stall_s_ = 0.0;  // seconds that training stood still for those
  double longest_s_ = 0.0;
  uint64_t bytes_ = 0;
};

}  // namespace penstock

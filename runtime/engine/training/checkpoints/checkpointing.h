// runtime/engine/training/checkpoints/checkpointing.h -- Checkpointing: writes a run's checkpoints
// when they are due, measures what that costs, and decides what follows when one cannot be written.
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
  using Note = std::function<void(const std::string& line)>;
  // `note` tells the user something, on rank 0. All else must outlive this.
  Checkpointing(const Config& config, Saver& saver, const Station& station, Note note);

  // This rank's StepVote::checkpoint: on rank 0, whether one is due by its clock; elsewhere false.
  [[nodiscard]] bool is_time() const;
  // Whether a checkpoint has been begun and is not complete, the same on every rank.
  [[nodiscard]] bool under_way() const { return writer_.under_way(); }
  // This rank's StepVote::writing: whether a thread of this rank writes a checkpoint.
  [[nodiscard]] bool writes() const { return writer_.busy(); }
  // Collective over all ranks, after a step, with the vote of all. Goes on with the checkpoint that
  // is under way and begins one that is due; training waits for the copy only. One that is due
  // while another is under way waits for it; where checkpoints are due by steps, training waits
  // too. Throws Error on every rank when one cannot be written, unless checkpoint.on_error is
  // "continue": then there is a note, and the next try is when the next is due.
  void after_step(const Progress& progress, const StepVote& vote);
  // Collective. Returns when a checkpoint of this step, the last one taken, is complete. Throws
  // Error on every rank when it cannot be written, whatever on_error says.
  void save(const Progress& progress);
  // Collective, when there are no more steps: waits for the checkpoint under way, if any. Throws as
  // after_step().
  void finish();

  // What checkpoints have cost so far.
  [[nodiscard]] CheckpointRecord record() const;
  // The most seconds that a checkpoint has taken until it was complete; 0: none has been yet.
  [[nodiscard]] double longest_seconds() const { return longest_s_; }
  // Bytes of host memory that this rank needs for checkpoints beside its tensors.
  [[nodiscard]] int64_t snapshot_bytes() const { return writer_.snapshot_bytes(); }

 private:
  using Clock = std::chrono::steady_clock;
  void begin(const Progress& progress);
  void completed(const CheckpointResult& result);
  void attempt(const std::function<void()>& work);

  const CheckpointConfig& config_;
  Saver& saver_;
  Network& network_;
  Note note_;
  CheckpointWriter writer_;
  Clock::time_point last_begun_ = Clock::now();
  int64_t last_step_ = 0;      // the step of the checkpoint begun last
  int64_t complete_step_ = 0;  // the step of the last complete checkpoint
  bool noted_ = false;    // it was said that checkpoints take longer than the time between them
  int64_t count_ = 0;     // complete ones
  int64_t begun_ = 0;     // begun while training went on
  double stall_s_ = 0.0;  // seconds that training stood still for those
  double longest_s_ = 0.0;
  uint64_t bytes_ = 0;
};

}  // namespace penstock

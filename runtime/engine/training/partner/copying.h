// runtime/engine/training/partner/copying.h -- Copying: makes a run's copies in memory
// (checkpoint.partner) when they are due, and decides what follows when one cannot be made.
//
// Every rank has one. Without checkpoint.partner it does nothing. PartnerCopies (partner_copies.h)
// makes the copies; Run calls Copying for the same steps on every rank.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/engine/training/checkpoints/saver.h"
#include "runtime/engine/training/partner/partner_copies.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/system/comm/station.h"

namespace penstock {

class Copying {
 public:
  // Tells the user one line, on rank 0.
  using Note = std::function<void(const std::string& line)>;
  // `attempt`: the number of this attempt at the run. All arguments but `note` must outlive this.
  // `station`: which rank this is, with its network, its place in stages x replicas and its device.
  Copying(const CheckpointConfig& config, int64_t attempt, const Saver& saver,
          const Pipeline& pipeline, const Station& station, Note note);

  // Takes the memory for all copies and makes the first, of the state at `progress`. Collective
  // over all ranks. Throws as the constructor of PartnerCopies does.
  void start(const Progress& progress);
  // Ends the copy that is under way and gives up all copies, since the tensors are about to go:
  // start_anew() makes new ones. Collective over all ranks.
  void give_up();
  // start() with the tensors of another pipeline, after give_up(); does nothing where there were no
  // copies.
  void start_anew(const Pipeline& pipeline, const Progress& progress);
  // Called after `step` with the vote of all ranks, once the update is final: where a copy is due
  // after it, ends the one under way. Collective over all ranks.
  void settle(bool waits);
  // Whether a copy is due after this step; false where there are no copies.
  [[nodiscard]] bool is_due(int64_t step) const;
  // Begins a copy of the state at `progress`, if one is due. An evaluation that `progress` owes is
  // what the run does next: as that may swap in averages of the weights, all is copied at once.
  void begin(const Progress& progress);
  // Copies what is left of this rank's part, before an update overwrites it.
  void copy_the_rest();
  // This rank's StepVote::copying.
  [[nodiscard]] bool under_way() const;
  // Removes the copies at the end of the run, when a checkpoint on disk is as new. Collective.
  void end();

 private:
  // Does `work`. When it fails on all ranks for lack of room and checkpoint.on_error is "continue",
  // the run goes on without copies; any other error is thrown.
  void attempt(const std::function<void()>& work);

  const CheckpointConfig& config_;
  const int64_t attempt_;
  const Saver& saver_;
  const Pipeline* pipeline_;  // never null
  const Station station_;
  Note note_;
  std::unique_ptr<PartnerCopies> copies_;  // null: there are none
  bool gave_up_ = false;                   // between give_up() and start_anew()
  bool failed_ = false;                    // making copies has failed, and no more are made
};

}  // namespace penstock

// runtime/engine/training/partner/partner_copies.h -- PartnerCopies: copies the training state to
// memory every few steps (checkpoint.partner_every), so that a job whose processes or host are lost
// goes on from there rather than from an older checkpoint on disk.
//
// Each rank copies its part of the state to memory of its own host that outlives the process, and
// sends the same bytes to its partner, a rank on another host (partners.h), which keeps them in its
// memory. After a loss, rescue.h makes an ordinary checkpoint of what is left.
//
// A copy takes the length of a step, since the state does not change between one update and the
// next. Pieces of it are copied while the rank waits for others (with a partner also between the
// ops of a computation), the rest right before the update. There are two slots for copies in each
// place: the older copy is overwritten only once the newer one is whole on all ranks, which a vote
// of all ranks tells (StepVote::copying, step_vote.h). So one whole copy exists at any moment.
//
// Order of calls, on every rank for the same steps, since ranks exchange messages:
//   1. begin(), after a step n for which is_due(n) is true, once its update is final
//   2. while_waiting() and between_ops(), by the network, whenever it likes, on the main thread
//   3. in each step after n, between its last gradient and its update: copy_the_rest(), then
//      under_way(), whose answer is this rank's vote StepVote::copying
//   4. settle(), after the next step that is due, with the vote of all ranks in that step; then
//      begin() for that step
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/engine/training/partner/copied_state.h"
#include "runtime/engine/training/partner/copy_in_progress.h"
#include "runtime/engine/training/partner/held_copies.h"
#include "runtime/planning/blueprint/config.h"
#include "runtime/records/checkpoint/manifest.h"
#include "runtime/system/comm/station.h"

namespace penstock {

class PartnerCopies final : public SideWork {
 public:
  // Collective over all ranks. Removes what earlier attempts at the run have left, takes the memory
  // for all copies (this rank's, and those that it holds for others), and copies what no step
  // changes. `state` is where the run stands before its first step here. Throws Error(Resource) on
  // every rank where one rank has no room, and Error(Input) where config.partner_dir is no
  // directory on a host. All arguments must outlive this. `station`: which rank this is, with its
  // network, its place in stages x replicas and its device. At its end the constructor registers
  // this object with that network (Network::set_side_work()); the destructor takes it off again.
  PartnerCopies(const CheckpointConfig& config, const CheckpointState& state, int64_t attempt,
                const Pipeline& pipeline, const Station& station);
  ~PartnerCopies() override;
  PartnerCopies(const PartnerCopies&) = delete;
  PartnerCopies& operator=(const PartnerCopies&) = delete;

  // Whether a copy is due after this step.
  [[nodiscard]] bool is_due(int64_t step) const { return step % every_ == 0; }
  // Whether a copy was begun and settle() has not been called since; the same on every rank.
  [[nodiscard]] bool begun() const { return begun_; }
  // Begins a copy of the state after a step whose update is final. All ranks begin one after the
  // same step; the call itself waits for no other rank. Throws Error(Internal) if a copy is begun
  // already. `state` is where the run stands. With a GPU the whole state is copied at once.
  void begin(const CheckpointState& state);
  // Copies what is left of this rank's part, without waiting for other ranks; does nothing if all
  // is copied. Called before anything changes the tensors.
  void copy_the_rest();
  // This rank's StepVote::copying: whether part of the copy that is begun is not yet where it
  // should be, or could not be kept.
  [[nodiscard]] bool under_way() const;
  // Ends the copy that is begun, if any: when this returns, it is whole on every rank. Collective
  // over all ranks. `waits`: the vote of all ranks, StepVote::copying; where it is false nothing
  // has to be waited for. Throws Error(Resource) on every rank when a rank could not keep its part.
  void settle(bool waits);
  // Removes all copies at the end of the run, when a checkpoint on disk is as new. Collective.
  void remove();

  // A line for the user: where copies are, and how large. Used on rank 0.
  [[nodiscard]] std::string description() const;
  // How often settle() had to wait, and for how long in all.
  [[nodiscard]] int64_t waits() const { return waits_; }
  [[nodiscard]] double waited_seconds() const { return waited_s_; }

  // Bytes that are copied in one go. A message of the pipeline that comes meanwhile is late by as
  // long as that takes.
  static constexpr size_t kPieceBytes = size_t{256} << 10;
  // The network calls these two (SideWork): each copies a piece and moves messages on, if a copy is
  // begun; between_ops() only where this rank has a partner.
  void while_waiting() override;
  void between_ops() override;

 private:
  void make_room(const CopySizes& sizes);
  void remove_own_folders() const;
  // Begins to fill a slot, of this rank's own copies and of those that it holds for others.
  void start(size_t slot);
  // Copies up to `most_bytes` of this rank's part of what start() began.
  void copy_some(size_t most_bytes);
  // Sends what is copied, and completes the copies of others that have come.
  void move_on();
  void send_what_is_copied();
  // Whether this rank's part is copied and sent, and the copies that it holds for others have come.
  [[nodiscard]] bool is_at_its_places() const;
  // Does `keep`; an error is kept in trouble_, and settle() throws it on all ranks.
  void attempt(const std::function<void()>& keep);
  // The text that says of which step and rank a copy is.
  [[nodiscard]] std::string document() const;
  [[nodiscard]] HeldCopies& own() const { return held_->front(); }

  const int64_t every_, attempt_;
  const std::string directory_, folder_;  // of all copies on a host, and of this run's
  std::string not_in_memory_;  // on rank 0, the first file system and host that is no memory
  CheckpointState state_;      // the progress that goes into the copy's text
  const Station station_;
  Collective& world_;
  std::vector<int> partners_;                   // by rank, its partner
  int partner_ = -1;                            // this rank's; -1: all ranks are on one host
  CopyLayout changing_layout_, frozen_layout_;  // which tensor is where in the slots
  CopyInProgress changing_, frozen_;
  size_t document_bytes_ = 0;
  std::unique_ptr<Courier> courier_;
  // [0]: this rank's own copies; the others: copies that it holds for the ranks whose partner it
  // is. The members down to trouble_ are about the slot that is being filled.
  std::unique_ptr<std::vector<HeldCopies>> held_;
  size_t slot_ = 0;
  CopyInProgress* copy_ = nullptr;  // null: this rank has nothing for this slot
  bool begun_ = false;
  bool own_is_kept_ = true, others_are_kept_ = true;
  size_t sent_ = 0;        // bytes sent to the partner
  std::string message_;    // the copy's text, while it is sent
  std::string trouble_;    // why a copy could not be kept
  int64_t waits_ = 0;      // how often settle() had to wait
  double waited_s_ = 0.0;  // for how many seconds in all
};

}  // namespace penstock

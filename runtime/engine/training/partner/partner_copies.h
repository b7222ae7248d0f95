// runtime/engine/training/partner/partner_copies.h -- PartnerCopies: copies this rank's state every
// checkpoint.partner_every steps to its own host's memory and to that of its partner, a rank on
// another host, so that killed processes or a lost host cost no more than those steps. rescue.h
// makes a checkpoint of such copies.
//
// The state does not change between one update and the next, so a copy is made within the next
// step: piece by piece while the rank waits for others, the rest before the update; where it goes
// to another host, also between ops, to be on its way early. Two versions alternate. The older one
// is overwritten only after the newer is whole on all ranks, which they tell each other by a vote
// of the step (StepVote::copying): at any moment one version is whole everywhere.
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
  // Collective. Removes what earlier attempts of the run have left, takes the memory for all
  // copies, this rank's and those that it holds for others, and copies what is frozen.
  // `state` is the run's before the first step. Throws Error(Resource) on every rank where one rank
  // has no room. All arguments must outlive this.
  PartnerCopies(const CheckpointConfig& config, const CheckpointState& state, int64_t attempt,
                const Pipeline& pipeline, const Station& station);
  ~PartnerCopies() override;
  PartnerCopies(const PartnerCopies&) = delete;
  PartnerCopies& operator=(const PartnerCopies&) = delete;

  [[nodiscard]] bool is_due(int64_t step) const { return step % every_ == 0; }
  // Whether a copy was begun and settle() has not been called since, the same on every rank.
  [[nodiscard]] bool begun() const { return begun_; }
  // Begins a copy, after a step whose update is final and when none is begun. `state` is where the
  // run stands.
  void begin(const CheckpointState& state);
  // Copies what is left. To be called before anything changes that is being copied.
  void copy_the_rest();
  // This rank's StepVote::copying: whether part of the copy that is begun is not yet where it
  // should be.
  [[nodiscard]] bool under_way() const;
  // Collective: when this returns, the copy that is begun, if any, is whole on every rank. `waits`:
  // the ranks have voted that it is not whole yet. Throws Error(Resource) on every rank where one
  // could not be kept.
  void settle(bool waits);
  // Collective: removes all copies, which the run needs no more.
  void remove();

  // A line for the log, on rank 0.
  [[nodiscard]] std::string description() const;
  // How often settle() had to wait, and for how long in all.
  [[nodiscard]] int64_t waits() const { return waits_; }
  [[nodiscard]] double waited_seconds() const { return waited_s_; }

  // Bytes that are copied in one go: a message of the pipeline that comes meanwhile is late by the
  // time that takes.
  static constexpr size_t kPieceBytes = size_t{256} << 10;
  // SideWork: both copy a piece and move messages on.
  void while_waiting() override;
  void between_ops() override;

 private:
  void make_room(const CopySizes& sizes);
  void remove_own_folders() const;
  // Begins to fill that slot, in this rank's own copies and in those that it holds for others,
  // where they have it.
  void start(size_t slot);
  // Copies `most_bytes` at most of this rank's own part of what start() began.
  void copy_some(size_t most_bytes);
  void move_on();
  void send_what_is_copied();
  [[nodiscard]] bool is_at_its_places() const;
  // Keeps the error that `keep` throws in trouble_: settle() throws it on all ranks.
  void attempt(const std::function<void()>& keep);
  [[nodiscard]] std::string document() const;
  [[nodiscard]] HeldCopies& own() const { return held_->front(); }

  const int64_t every_, attempt_;
  const std::string folder_;
  CheckpointState state_;  // goes into the document of the copy
  const Station station_;
  Collective& world_;
  std::vector<int> partners_;  // by rank
  int partner_ = -1;           // -1: there is one host
  CopyLayout changing_layout_, frozen_layout_;
  CopyInProgress changing_, frozen_;
  size_t document_bytes_ = 0;
  std::unique_ptr<Courier> courier_;
  // The first of held_ are this rank's own copies, the others those of the ranks whose partner it
  // is. The members below it, down to trouble_, are about the slot that is being filled.
  std::unique_ptr<std::vector<HeldCopies>> held_;
  size_t slot_ = 0;
  CopyInProgress* copy_ = nullptr;  // null: this rank copies nothing to it
  bool begun_ = false;
  bool own_is_kept_ = true, others_are_kept_ = true;
  size_t sent_ = 0;      // bytes of the data
  std::string message_;  // the document, on its way
  std::string trouble_;  // why something could not be kept
  int64_t waits_ = 0;
  double waited_s_ = 0.0;
};

}  // namespace penstock

// runtime/engine/training/partner/held_copies.h -- HeldCopies: memory of this host (files in a
// folder such as /dev/shm) that holds copies of one rank's training state, where killed processes
// cannot take it with them (partner_copies.h).
//
// A rank has one for its own state, and one for each rank on another host whose partner it is: that
// rank sends its copies here. There are three slots. Slots 0 and 1 hold the parts that steps
// change, of two different steps, so that one copy is whole while the other is overwritten; slot 2
// (kFrozen) holds what no step changes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/copies/copy_slot.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// How large a rank's copies are, which its partner must know.
struct CopySizes {
  // The first bytes of the files of slots 0 and 1, and of slot 2.
  std::string header, frozen_header;
  // Bytes of tensors in slots 0 and 1, each, and in slot 2.
  uint64_t data_bytes = 0, frozen_bytes = 0;
  uint64_t document_bytes = 0;  // room for the text that says of which step a copy is

  [[nodiscard]] bool has_frozen() const { return frozen_bytes > 0; }
};
// Collective over `world`: every rank sends its sizes to its partner. `partners`: by rank, its
// partner (partners.h). Returns the sizes of the ranks whose partner this rank is, in ascending
// order of ranks.
[[nodiscard]] std::vector<CopySizes> exchange_sizes(const CopySizes& mine,
                                                    const std::vector<int>& partners,
                                                    Collective& world);

class HeldCopies {
 public:
  static constexpr size_t kFrozen = 2;  // the slot of what no step changes
  // The largest message to a partner: so small that the pipeline's messages get through between
  // two.
  static constexpr size_t kMessageBytes = size_t{4} << 20;

  // `owner`: the rank whose state is copied; `folder`: where the files are. Takes the memory of all
  // slots, of three only where sizes.has_frozen(). Throws Error(Resource) where there is not
  // enough.
  HeldCopies(int owner, const std::string& folder, const CopySizes& sizes);

  // Whether there is such a slot.
  [[nodiscard]] bool has(size_t slot) const { return slot < slots_.size(); }
  // The memory for the tensors of a slot.
  [[nodiscard]] std::span<std::byte> data(size_t slot) const { return slots_[slot].data(); }
  // forget() marks the slot as holding no valid copy, before it is overwritten; complete() marks it
  // as valid, with a text that says of which step it is. Both throw Error(Resource) where the file
  // system fails.
  void forget(size_t slot) const { slots_[slot].forget(); }
  void complete(size_t slot, const std::string& document) const { slots_[slot].complete(document); }
  // Posts the receives of another rank's copy: the slot's data, in messages of kMessageBytes, and
  // the text. The owner sends them. `courier` is the channel for such bytes, which moves them while
  // the rank waits for something else.
  void expect(size_t slot, Courier& courier);
  // Called when all messages of expect() have come: completes the slot, and throws as complete()
  // does.
  void keep(size_t slot) const;

 private:
  int owner_;
  std::vector<CopySlot> slots_;
  std::string document_;  // the text that is received
};

}  // namespace penstock

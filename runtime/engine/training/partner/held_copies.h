// runtime/engine/training/partner/held_copies.h -- HeldCopies: the slots of this host's memory with
// copies of one rank's state: two slots for two steps, and one for what no step changes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/copies/copy_slot.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// What a rank tells its partner, which holds second copies for it, about their sizes.
struct CopySizes {
  std::string header, frozen_header;  // the headers of the slots' files
  uint64_t data_bytes = 0, frozen_bytes = 0;
  uint64_t document_bytes = 0;  // room for the longest document

  [[nodiscard]] bool has_frozen() const { return frozen_bytes > 0; }
};
// Collective: gives each rank's sizes to its partner, in the order of ranks. Returns the sizes of
// the ranks whose partner this one is, in the same order.
[[nodiscard]] std::vector<CopySizes> exchange_sizes(const CopySizes& mine,
                                                    const std::vector<int>& partners,
                                                    Collective& world);

class HeldCopies {
 public:
  static constexpr size_t kFrozen = 2;  // the slot of what is frozen; 0 and 1 alternate
  // The largest message: small enough that the pipeline's messages pass between two of these.
  static constexpr size_t kMessageBytes = size_t{4} << 20;

  // `owner`: the rank whose state is copied; `folder`: its copies_of_rank(). Takes the memory of
  // all slots. Throws Error(Resource) where there is not enough.
  HeldCopies(int owner, const std::string& folder, const CopySizes& sizes);

  [[nodiscard]] bool has(size_t slot) const { return slot < slots_.size(); }
  [[nodiscard]] std::span<std::byte> data(size_t slot) const { return slots_[slot].data(); }
  // forget() makes the slot's copy invalid; complete() makes it valid, with its document.
  void forget(size_t slot) const { slots_[slot].forget(); }
  void complete(size_t slot, const std::string& document) const { slots_[slot].complete(document); }
  // Expects the slot's data from its owner as messages of kMessageBytes, then the document.
  void expect(size_t slot, Courier& courier);
  // Completes the slot with the document that has come, once all messages of expect() have come.
  void keep(size_t slot) const;

 private:
  int owner_;
  std::vector<CopySlot> slots_;
  std::string document_;
};

}  // namespace penstock

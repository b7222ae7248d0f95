// runtime/engine/training/partner/rescued_shards.h -- writes the shards (files of tensors) of a
// checkpoint from the copies of ranks' states that are in memory on the hosts of this job; the
// second half of rescue.h.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/checkpoint/copies/copy_layout.h"
#include "runtime/records/checkpoint/copies/copy_list.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// A piece of a tensor (a range of its elements) in one of the copies.
struct HeldPiece {
  StoredPiece piece;
  int holder = 0;    // the rank that reads it, which is on the copy's host
  std::string file;  // the copy's file on that host
};
// Lists the pieces in all `copies`, in the same order on every rank. `copies`, the same on every
// rank, says of each copy in which folder of which rank's host it is (FoundCopy, copy_list.h in
// runtime/records/checkpoint/copies). Collective over `world`: each copy is opened by its holder.
// Throws Error(Data) on every rank for a file that is no such copy.
[[nodiscard]] std::vector<HeldPiece> gather_pieces(const std::vector<FoundCopy>& copies,
                                                   Collective& world);

// Writes the shards into `directory`. Collective over `world`: each shard is written by one of the
// ranks that hold pieces of it, to which the others send theirs. Returns this rank's report, a text
// that says what it wrote and that rank 0 completes the checkpoint by (Completion::reports in
// runtime/records/checkpoint/writer/documents.h). Throws Error(Data) on every rank where pieces are
// missing.
[[nodiscard]] std::string write_rescued_shards(const std::string& directory,
                                               const std::vector<HeldPiece>& pieces,
                                               Collective& world);

}  // namespace penstock

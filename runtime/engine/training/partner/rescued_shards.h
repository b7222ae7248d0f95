// runtime/engine/training/partner/rescued_shards.h -- writes a checkpoint's shards from the copies
// of ranks' states that hosts of this job have in memory.
#pragma once

#include <string>
#include <vector>

#include "runtime/records/checkpoint/copies/copy_layout.h"
#include "runtime/records/checkpoint/copies/copy_list.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// A piece of a tensor, in one of the copies.
struct HeldPiece {
  StoredPiece piece;
  int holder = 0;    // the rank that reads it
  std::string file;  // on that rank's host
};
// Collective: the pieces of all the copies, each opened by its holder, in the same order on every
// rank. Throws Error(Data) on every rank for a file that is no such copy.
[[nodiscard]] std::vector<HeldPiece> gather_pieces(const std::vector<FoundCopy>& copies,
                                                   Collective& world);

// Collective: writes the shards into `directory`. Each shard is written by one of the ranks that
// hold pieces of it; the others send that rank theirs. Returns this rank's report for
// Completion::reports. Throws Error(Data) on every rank where pieces are lacking.
[[nodiscard]] std::string write_rescued_shards(const std::string& directory,
                                               const std::vector<HeldPiece>& pieces,
                                               Collective& world);

}  // namespace penstock

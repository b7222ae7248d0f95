// runtime/records/checkpoint/copies/copy_list.h -- which copies of a run's state are in the memory
// of the hosts of a job, and which of them make a whole: the newest step of which every rank's is
// there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/copies/copy_document.h"

namespace penstock {

struct FoundCopy {
  std::string folder;  // of the slot
  CopyDocument document;
  int holder = 0;    // the rank of this job that has found it
  std::string host;  // the holder's, for people
};
struct FoundCopies {
  std::vector<FoundCopy> copies;
  std::vector<std::string> troubles;  // a sentence for each document that cannot be read
};
// The complete copies on this host below `directory`. Those of another run, by name or by what they
// say, are left out. Throws Error(Resource) for a folder that cannot be listed.
[[nodiscard]] FoundCopies find_copies(const std::string& directory, const std::string& run);

struct ChosenCopies {
  int64_t step = -1;                  // -1: there is no whole step
  std::vector<FoundCopy> copies;      // by rank, then those of what is frozen
  std::vector<std::string> troubles;  // why newer steps, or all, are passed over
};
// Chooses the newest whole step after `newer_than` among the copies of `attempt`, the last one that
// has begun: what an earlier attempt has left is stale, for the run went on elsewhere. Pure.
[[nodiscard]] ChosenCopies choose_copies(const std::vector<FoundCopy>& found, int64_t attempt,
                                         int64_t newer_than);

}  // namespace penstock

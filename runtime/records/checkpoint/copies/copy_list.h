// runtime/records/checkpoint/copies/copy_list.h -- finds the copies of a run's state in the memory
// of a job's hosts, and chooses the newest step of which every rank's copy is there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/copies/copy_document.h"

namespace penstock {

struct FoundCopy {
  std::string folder;  // the slot's
  CopyDocument document;
  int holder = 0;    // the rank of this job on whose host it was found
  std::string host;  // that host, for people
};
struct FoundCopies {
  std::vector<FoundCopy> copies;
  std::vector<std::string> troubles;  // a sentence for each document that cannot be read
};
// The complete copies of `run` on this host below `directory`; others, by the name of their folder
// or by their document, are left out. Throws Error(Resource) for a folder that cannot be listed.
[[nodiscard]] FoundCopies find_copies(const std::string& directory, const std::string& run);

struct ChosenCopies {
  int64_t step = -1;                  // -1: there is no whole step
  std::vector<FoundCopy> copies;      // by rank, then the frozen copies
  std::vector<std::string> troubles;  // why newer steps, or all, are passed over
};
// Chooses the newest step after `newer_than` of which `attempt`, the run's last, has left all
// copies. Copies of an earlier attempt are stale, for the run went on without them. Pure.
[[nodiscard]] ChosenCopies choose_copies(const std::vector<FoundCopy>& found, int64_t attempt,
                                         int64_t newer_than);

}  // namespace penstock

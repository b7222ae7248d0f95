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
  std::string host;  // of that one, for people
};
struct FoundCopies {
  std::vector<FoundCopy> copies;
  std::vector<std::string> troubles;  // a sentence for each document that cannot be read
};
// The complete ones on this host below `directory`. What is another run's, by name or by what it
// says, is not taken. Throws Error(Resource) for a folder that cannot be listed.
[[nodiscard]] FoundCopies find_copies(const std::string& directory, const std::string& run);

struct ChosenCopies {
  int64_t step = -1;                  // -1: there is no whole step
  std::vector<FoundCopy> copies;      // by rank, and those of what is frozen after them
  std::vector<std::string> troubles;  // why newer steps, or all, are passed over
};
// Of the copies of that attempt, the last one that has begun, and of steps after `newer_than`.
// What an earlier attempt has left is of a run that went on elsewhere. Pure.
[[nodiscard]] ChosenCopies choose_copies(const std::vector<FoundCopy>& found, int64_t attempt,
                                         int64_t newer_than);

}  // namespace penstock

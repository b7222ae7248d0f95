// runtime/records/checkpoint/copies/copy_list.h -- when a run starts again after a crash:
// find_copies() lists the copies of ranks' states (copy_slot.h) that are in the memory of this
// host; choose_copies() picks, from those of all hosts, the newest step of which every rank's state
// is there.
//
// Every host calls find_copies(); the callers bring the lists together and fill in `holder` and
// `host` (runtime/engine/training/partner/rescue.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/copies/copy_document.h"

namespace penstock {

struct FoundCopy {
  std::string folder;     // that has copy.safetensors and copy.json
  CopyDocument document;  // its copy.json: whose state it is, and of which step
  int holder = 0;         // the rank, in the job that starts now, on whose host it was found
  std::string host;       // the name of that host, for messages
};
struct FoundCopies {
  std::vector<FoundCopy> copies;
  std::vector<std::string> troubles;  // a sentence for each document that cannot be read
};
// The complete copies on this host that belong to the run with the identity `run`. `directory` is
// checkpoint.partner_dir. Leaves `holder` and `host` at their defaults. Throws Error(Resource) if a
// folder cannot be listed.
[[nodiscard]] FoundCopies find_copies(const std::string& directory, const std::string& run);

struct ChosenCopies {
  int64_t step = -1;                  // -1: of no step is every rank's state there
  std::vector<FoundCopy> copies;      // one for each rank, by rank, then the frozen copies by rank
  std::vector<std::string> troubles;  // a sentence for each newer step why it was not chosen
};
// Chooses the newest step after `newer_than` (the step of the newest checkpoint on disk) of which
// every rank's copy is in `found`. Only copies that the attempt (start of the run) `attempt`, its
// last one, has written count: after an older one's copies the run has gone on.
[[nodiscard]] ChosenCopies choose_copies(const std::vector<FoundCopy>& found, int64_t attempt,
                                         int64_t newer_than);

}  // namespace penstock

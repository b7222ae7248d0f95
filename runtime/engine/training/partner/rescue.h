// runtime/engine/training/partner/rescue.h -- what killed processes and a lost host have left in
// memory becomes a checkpoint on disk like any other: at any number of stages and replicas the run
// goes on from there, and all that is known of checkpoints holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/network.h"

namespace penstock {

struct RescueRequest {
  std::string directory;   // checkpoint.partner_dir
  std::string root;        // "<run>/checkpoints"
  std::string run;         // its identity
  int64_t attempt = 0;     // the last one that has begun
  int64_t newer_than = 0;  // a step that is on disk; 0: none is
};
struct Rescued {
  int64_t step = 0;                // whose checkpoint is on disk now; 0: none
  std::vector<std::string> notes;  // on rank 0: what was found, passed over and made
};

// Collective. Makes a checkpoint of the newest step that is whole, by checksums too, in the memory
// of this job's hosts (PartnerCopies), if it is newer than what is on disk. Holds one shard of a
// checkpoint in memory at a time. Throws Error on every rank where it cannot be written: nothing is
// lost then.
[[nodiscard]] Rescued rescue_from_memory(const RescueRequest& request, const Session& session,
                                         Collective& world);
// Removes the run's copies on this rank's host, where there are any, once the run is at its end.
// Called on every rank.
void forget_memory(const std::string& directory, const std::string& run, const Session& session);

}  // namespace penstock

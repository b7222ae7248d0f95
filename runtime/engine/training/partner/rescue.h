// runtime/engine/training/partner/rescue.h -- makes a checkpoint on disk, like any other, of the
// copies that killed processes or a lost host have left in memory (partner_copies.h); the run then
// goes on from it, at any number of stages and replicas.
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
  std::string run;         // the identity of the run
  int64_t attempt = 0;     // the run's last attempt that has begun
  int64_t newer_than = 0;  // the step of the newest checkpoint on disk; 0: there is none
};
struct Rescued {
  int64_t step = 0;                // the step of the checkpoint that was made; 0: none was
  std::vector<std::string> notes;  // on rank 0: what was found, passed over and made
};

// Collective. Makes a checkpoint of the newest step of which the memory of this job's hosts has
// whole copies, with the right checksums, if it is newer than what is on disk. Holds one shard of
// the checkpoint in memory at a time. Throws Error on every rank where it cannot be written; the
// copies then stay.
[[nodiscard]] Rescued rescue_from_memory(const RescueRequest& request, const Session& session,
                                         Collective& world);
// Removes the run's copies on this rank's host, where there are any, once the run is at its end.
// Called on every rank.
void forget_memory(const std::string& directory, const std::string& run, const Session& session);

}  // namespace penstock

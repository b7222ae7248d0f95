// runtime/engine/training/partner/rescue.h -- makes a checkpoint on disk of the copies in memory
// (partner_copies.h) that an earlier attempt of the run has left on the hosts of this job, when its
// processes were killed or a host was lost. The run then resumes from that checkpoint as from any
// other, at any number of stages and replicas.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/network.h"

namespace penstock {

struct RescueRequest {
  std::string directory;   // checkpoint.partner_dir: where copies are, on each host
  std::string root;        // "<run>/checkpoints", where the checkpoint is written
  std::string run;         // the identity of the run (CheckpointState::run)
  int64_t attempt = 0;     // the number of the run's last attempt that has begun
  int64_t newer_than = 0;  // the step of the newest checkpoint on disk; 0: there is none
};
struct Rescued {
  int64_t step = 0;                // the step of the checkpoint that was made; 0: none was
  std::vector<std::string> notes;  // on rank 0, for the user: what was found, passed over and made
};

// Makes a checkpoint of the newest step that the hosts of this job together have whole copies of,
// with right checksums; does nothing where the checkpoint on disk is as new. Collective over all
// ranks. Needs memory for one shard (file) of the checkpoint at a time. Throws Error(Resource) on
// every rank where it cannot be written; the copies then stay.
[[nodiscard]] Rescued rescue_from_memory(const RescueRequest& request, const Session& session,
                                         Collective& world);
// Removes the run's copies on this rank's host, if there are any, when the run is at its end.
// Called on every rank; the first rank of each host does it, and the others return at once. Throws
// Error(Resource) where the copies cannot be removed.
void forget_memory(const std::string& directory, const std::string& run, const Session& session);

}  // namespace penstock

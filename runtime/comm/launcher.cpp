#include "runtime/comm/launcher.h"

#include <array>
#include <cstdlib>

namespace penstock {
namespace {

struct Launcher {
  const char* size_variable;
  const char* name;
  const char* cure;
};

constexpr std::array<Launcher, 5> kLaunchers = {{
    {"SLURM_STEP_NUM_TASKS", "srun", "start it with `srun --mpi=pmix` or with mpirun"},
    {"PMI_SIZE", "the launcher", "use the mpirun of the MPI that penstock was built with"},
    {"MPI_LOCALNRANKS", "the launcher", "use the mpirun of the MPI that penstock was built with"},
    {"FLUX_JOB_SIZE", "flux", "start it with `flux run -o mpi=...` or with mpirun"},
    {"JSM_NAMESPACE_SIZE", "jsrun", "use the MPI that belongs to jsrun"},
}};

int number(const char* text) {
  return text == nullptr ? 0 : std::atoi(text);
}

// mpirun, or a launcher with PMIx: Open MPI then knows the size of the job for certain.
bool knows_open_mpi(const Environment& environment) {
  return environment("OMPI_COMM_WORLD_SIZE") != nullptr || environment("PMIX_RANK") != nullptr;
}

}  // namespace

std::string launcher_complaint(const Environment& environment) {
  if (knows_open_mpi(environment)) return {};
  for (const Launcher& launcher : kLaunchers) {
    const int started = number(environment(launcher.size_variable));
    if (started > 1) {
      return std::string(launcher.name) + " started " + std::to_string(started) + " processes (" +
             launcher.size_variable + ") that MPI does not join into one job: " + launcher.cure;
    }
  }
  return {};
}

bool is_slurm_without_pmix(const Environment& environment) {
  return number(environment("SLURM_STEP_NUM_TASKS")) > 1 && !knows_open_mpi(environment) &&
         environment("PMI_SIZE") == nullptr && environment("PMI_RANK") == nullptr;
}

}  // namespace penstock

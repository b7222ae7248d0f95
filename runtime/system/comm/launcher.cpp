#include "runtime/system/comm/launcher.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace penstock {
namespace {

// Describes a launcher under which each process can become an MPI job of its own, if MPI was not
// built to work with it. To add a launcher, add a row to kLaunchers.
struct Launcher {
  const char* size_variable;  // holds how many processes were started
  const char* name;
  const char* cure;  // what helps; null: the mpiexec of the MPI that Penstock was built with
};

constexpr std::array<Launcher, 6> kLaunchers = {{
    {"OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun", nullptr},
    {"SLURM_STEP_NUM_TASKS", "srun",
     "start it with `srun --mpi=pmix` (Open MPI) or `srun --mpi=pmi2` (MPICH), or with mpirun"},
    {"FLUX_JOB_SIZE", "flux", "start it with `flux run -o mpi=...` or with mpirun"},
    {"JSM_NAMESPACE_SIZE", "jsrun", "use the MPI that belongs to jsrun"},
    {"PMI_SIZE", "the mpiexec of MPICH or one of its kin", nullptr},
    {"MPI_LOCALNRANKS", "the mpiexec of MPICH or one of its kin", nullptr},
}};

// Names the variables of a launcher that hold how many processes it started, and which one this is.
// The launcher whose variables are there and that stands first has started this process: those
// behind it may have started that launcher, as a step of Slurm starts the helpers of mpirun.
struct Numbered {
  const char* size_variable;
  const char* number_variable;
};

constexpr std::array<Numbered, 5> kNumbered = {{
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"PMI_SIZE", "PMI_RANK"},
    {"FLUX_JOB_SIZE", "FLUX_TASK_RANK"},
    {"JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK"},
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
}};

int number(const char* text) {
  return text == nullptr ? 0 : std::atoi(text);
}

// Returns whether mpirun or a launcher with PMIx has started this process. Then Open MPI knows the
// size of the job for certain.
bool knows_open_mpi(const Environment& environment) {
  return environment("OMPI_COMM_WORLD_SIZE") != nullptr || environment("PMIX_RANK") != nullptr;
}

bool offers_pmi(const Environment& environment) {
  return environment("PMI_SIZE") != nullptr || environment("PMI_RANK") != nullptr;
}

bool is_unjoined_step(const Environment& environment) {
  return number(environment("SLURM_STEP_NUM_TASKS")) > 1 && !knows_open_mpi(environment);
}

}  // namespace

std::string launcher_complaint(const Environment& environment, const std::string& library) {
  const bool by_mpirun = environment("OMPI_COMM_WORLD_SIZE") != nullptr;
  for (const Launcher& launcher : kLaunchers) {
    // mpirun may start its helpers through another launcher, whose variables are in the environment
    // as well. So if mpirun's own variable is set, only that one counts.
    if (by_mpirun && &launcher != &kLaunchers.front()) break;
    const int started = number(environment(launcher.size_variable));
    if (started > 1) {
      return std::string(launcher.name) + " started " + std::to_string(started) + " processes (" +
             launcher.size_variable + ") that MPI does not join into one job: " +
             (launcher.cure != nullptr ? launcher.cure
                                       : "penstock was built with " + library +
                                             ": start it with the mpiexec of that one");
    }
  }
  return {};
}

bool is_slurm_without_pmix(const Environment& environment) {
  return is_unjoined_step(environment) && !offers_pmi(environment);
}

bool is_slurm_with_pmi(const Environment& environment) {
  return is_unjoined_step(environment) && offers_pmi(environment);
}

StartedProcess started_process(const Environment& environment) {
  for (const Numbered& launcher : kNumbered) {
    const char* size = environment(launcher.size_variable);
    const char* own = environment(launcher.number_variable);
    if (size != nullptr && own != nullptr) return {number(own), std::max(1, number(size))};
  }
  return {};
}

// Returns the name of the launcher that has started this process. That launcher may itself have
// been started by another (mpirun within a Slurm allocation), whose variables are in the
// environment as well. So variables that only one launcher sets are looked at first.
std::string starter(const Environment& environment) {
  if (environment("OMPI_COMM_WORLD_SIZE") != nullptr) return "mpirun";
  if (environment("MPI_LOCALNRANKS") != nullptr) return "mpiexec";
  const bool is_managed = environment("PMIX_RANK") != nullptr || offers_pmi(environment);
  if (environment("FLUX_TASK_RANK") != nullptr) return "flux run";
  if (environment("JSM_NAMESPACE_SIZE") != nullptr) return "jsrun";
  if (environment("SLURM_STEP_NUM_TASKS") != nullptr && is_managed) return "srun";
  return "mpirun";
}

}  // namespace penstock

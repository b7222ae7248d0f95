// runtime/system/comm/launcher.h -- what the environment says about who started this process.
//
// A launcher that MPI does not understand (srun without PMIx, the mpirun of another MPI) starts N
// processes of which each believes to be alone, and N copies of the run would write to the same
// files. Only the launcher's variables tell. Pure: the environment comes in as a function.
#pragma once

#include <functional>
#include <string>

namespace penstock {

using Environment = std::function<const char*(const char* name)>;  // null where it is not set

// For a process that MPI believes to be alone: a sentence that names the launcher and the cure when
// several were started; empty when all is well. The environment is that before MPI_Init, which adds
// to it. SLURM_NTASKS alone proves nothing: a batch script has it too, and may well start a single
// process.
[[nodiscard]] std::string launcher_complaint(const Environment& environment);

// True when Open MPI would refuse to start, and end the process, in MPI_Init: a Slurm step with
// neither PMIx nor mpirun above it.
[[nodiscard]] bool is_slurm_without_pmix(const Environment& environment);
// A Slurm step that offers PMI or PMI2 alone (`srun --mpi=pmi2`): an MPI that was built with it can
// start, one that was not ends the process in MPI_Init.
[[nodiscard]] bool is_slurm_with_pmi(const Environment& environment);

// Of processes that a launcher started and MPI did not join, whether this is the first: the one
// that says so. True where there is nothing to tell them apart by. Of the environment before
// MPI_Init.
[[nodiscard]] bool is_first_of_unjoined(const Environment& environment);

// What started the ranks, as a user writes it before `-n RANKS`: "mpirun", "srun", "flux run",
// "jsrun", or "mpiexec" for that of MPICH. "mpirun" where nothing did. Of the environment before
// MPI_Init, too.
[[nodiscard]] std::string starter(const Environment& environment);

}  // namespace penstock

// runtime/system/comm/launcher.h -- tells from environment variables which launcher started
// this process, how many it started, and whether MPI knows of the others.
//
// A launcher that MPI does not understand (srun without PMIx, the mpirun of another MPI) starts N
// processes of which each believes to be alone, and N copies of the run would write to the same
// files. Only the launcher's variables tell. Pure: the environment comes in as a function.
//
// A new launcher is a row of kLaunchers in launcher.cpp, its variables one of kNumbered there, and
// its name a line of starter(). It may want its words where the
// program gives advice:
// launch/program/start/start_line.cpp (how to start), launch/program/threads.cpp (how to bind),
// launch/program/stopping/time_limit.cpp (when the job ends), and, before MPI has started,
// launch/program/processor/processor_check.cpp (the rank on its host).
#pragma once

#include <functional>
#include <string>

namespace penstock {

using Environment = std::function<const char*(const char* name)>;  // null where it is not set

// A sentence that names the launcher and the cure when several processes were started but MPI
// believes this one to be alone; empty when all is well. `environment`, here and below: as it was
// before MPI_Init, which adds to it. SLURM_NTASKS alone proves nothing: a batch script has it too,
// and may well start a single process. `library` is the MPI of this program, as it calls itself.
[[nodiscard]] std::string launcher_complaint(const Environment& environment,
                                             const std::string& library);

// True when Open MPI would refuse to start, and end the process, in MPI_Init: a Slurm step with
// neither PMIx nor mpirun above it.
[[nodiscard]] bool is_slurm_without_pmix(const Environment& environment);
// True in a Slurm step that offers PMI or PMI2 alone (`srun --mpi=pmi2`): an MPI that was built
// with it can start, one that was not ends the process in MPI_Init.
[[nodiscard]] bool is_slurm_with_pmi(const Environment& environment);

// Tells which process this one is, and of how many that a launcher started together, whether MPI
// joins them or not. It is alone where nothing tells of others, as in a batch script.
struct StartedProcess {
  int number = 0;  // 0 is the first
  int processes = 1;
};
[[nodiscard]] StartedProcess started_process(const Environment& environment);

// The command that started the ranks, as a user writes it before `-n RANKS`: "mpirun", "srun",
// "flux run", "jsrun", or "mpiexec" for MPICH's. "mpirun" where no launcher is known.
[[nodiscard]] std::string starter(const Environment& environment);

}  // namespace penstock

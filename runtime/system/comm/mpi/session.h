// runtime/system/comm/mpi/session.h -- Session: starts and ends MPI, and says which rank this
// process is.
//
// One Session per process, made by launch/ (and the tests' main). A rank that fails calls abort()
// while the session still lives: unwinding into MPI_Finalize with the other ranks waiting would
// hang. Only runtime/system/comm includes <mpi.h>.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace penstock {

class Session {
 public:
  // MPI_Init_thread(MULTIPLE). Throws Error(Peer) when MPI cannot start, and Error(Input) when a
  // launcher started several processes that do not know each other (srun without PMIx).
  Session(int& argc, char**& argv);
  ~Session();  // MPI_Finalize: collective; abort() instead when an exception is passing through
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int local_rank() const { return local_rank_; }  // on this host
  [[nodiscard]] int local_ranks() const { return static_cast<int>(host_ranks_.size()); }
  // The ranks on this host, by ascending number.
  [[nodiscard]] const std::vector<int>& host_ranks() const { return host_ranks_; }
  [[nodiscard]] const std::string& host() const { return host_; }
  // The command that started the ranks, as a user writes it before `-n RANKS` ("mpirun", "srun");
  // and the arguments of this process, separated by spaces.
  [[nodiscard]] const std::string& started_by() const { return started_by_; }
  [[nodiscard]] const std::string& arguments() const { return arguments_; }
  [[nodiscard]] static std::string library_version();  // "Open MPI v4.1.4"
  // Whether this MPI says that it can be given the addresses of GPU memory.
  [[nodiscard]] static bool takes_gpu_memory();

  // Ends the whole job at once with this exit code; never returns. May be called from any thread.
  [[noreturn]] void abort(int exit_code) const;
  // Ends a job that has failed in good order: all ranks call this, and the job ends once all have
  // or enough time has passed. What was printed before stays the last word; mpirun would print a
  // dozen lines for ranks that end by themselves with an exit code. Returns, on all ranks, where
  // this MPI has no such way: leave by MPI_Finalize then.
  void end_together(int exit_code) const;

 private:
  int rank_ = 0, ranks_ = 1, local_rank_ = 0;
  std::vector<int> host_ranks_ = {0};
  std::string host_, started_by_, arguments_;
};

}  // namespace penstock

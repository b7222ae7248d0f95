// launch/program/failure.h -- how ranks fail: together where they can, in good order, with one line
// printed; alone where they must, taking the job down. Who prints and which exit code is decided
// here and in program.cpp, nowhere else.
#pragma once

#include <functional>
#include <string>

#include "kernels/error.h"
#include "runtime/comm/mpi/session.h"
#include "runtime/comm/network.h"
#include "runtime/comm/watch/watch.h"

namespace penstock {

// Runs `make` on rank 0 and returns its text on all ranks. Collective; when `make` throws, every
// rank throws it (ErrorScope::EveryRank).
[[nodiscard]] std::string on_first_rank(Collective& world,
                                        const std::function<std::string()>& make);
// Runs `work` on every rank; when it throws anywhere, every rank throws the words of the
// lowest rank that failed (ErrorScope::EveryRank). `work` must not communicate.
void agree(Collective& world, const std::string& who, const std::function<void()>& work);

struct Failure {
  ErrorKind kind = ErrorKind::Internal;
  std::string what;
  ErrorScope scope = ErrorScope::OneRank;
};
// Of the exception being handled: call in a catch block only.
[[nodiscard]] Failure current_failure();
// Throws it again; when it is this rank's alone it begins with `who`: "rank 3 (stage 1, ...)".
[[noreturn]] void rethrow_naming(const std::string& who);

// One line on standard error: "penstock: error: ...".
void print_error(const std::string& what);
// A line for each rank, and the error last.
void print_hang(const HangReport& report);
// Prints the failure once and returns the exit code when every rank has it, to leave through
// MPI_Finalize. Otherwise the other ranks may wait for this one for ever: prints, and ends the job.
// Ranks that fail for one reason without knowing of each other: the lowest speaks first, and the
// job is over before the next does.
[[nodiscard]] int report(const Session& session, const Failure& failure);

}  // namespace penstock

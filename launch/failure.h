// launch/failure.h -- how ranks fail: together where they can, in good order, with one line
// printed; alone where they must, taking the job down. Who prints and which exit code is decided
// here and in main.cpp, nowhere else.
#pragma once

#include <functional>
#include <string>

#include "kernels/error.h"
#include "runtime/comm/network.h"
#include "runtime/comm/session.h"

namespace penstock {

// An error that every rank throws with the same words: all leave through MPI_Finalize, rank 0
// prints.
class SharedError : public Error {
 public:
  using Error::Error;
};

// Runs `make` on rank 0 and returns its text on all ranks. Collective; when `make` throws, every
// rank throws SharedError.
[[nodiscard]] std::string on_first_rank(Collective& world,
                                        const std::function<std::string()>& make);
// Runs `work` on every rank; when it throws anywhere, every rank throws SharedError with the words
// of the lowest rank that failed. `work` must not communicate.
void on_every_rank(Collective& world, const std::string& who, const std::function<void()>& work);

struct Failure {
  ErrorKind kind = ErrorKind::Internal;
  std::string what;
};
// Of the exception being handled: call in a catch block only.
[[nodiscard]] Failure current_failure();
// Throws it again as an Error that begins with `who`: "rank 3 (stage 1, replica 1, host n7)".
[[noreturn]] void rethrow_as(const std::string& who);

// One line on standard error: "penstock: error: ...".
void print_error(const std::string& what);
// This rank failed and the others may not know: prints and ends the job. When all ranks fail for
// one reason, the lowest prints and ends the job before the others have spoken.
[[noreturn]] void end_job(const Session& session, const Failure& failure);

}  // namespace penstock

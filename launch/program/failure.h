// launch/program/failure.h -- what a rank does with an error: who prints it, and with which exit
// code the job ends.
//
// An error that all ranks know (Error::scope() is EveryRank) is printed once, and all ranks end in
// the regular way, through MPI_Finalize. An error of one rank alone ends the whole job at once
// (MPI_Abort), since other ranks may be waiting for this one. Only this and program.cpp decide
// that; kernels/error.h has the exit code of each kind of error.
#pragma once

#include <string>

#include "runtime/system/comm/agreement.h"
#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/watch/watch.h"

namespace penstock {

// Called in a catch block: throws the exception again, with `who` ("rank 3 (stage 1, ...)") before
// its message when it is this rank's alone.
[[noreturn]] void rethrow_naming(const std::string& who);

// Prints one line on standard error: "penstock: error: ..." or, where a stop was asked for,
// "penstock: stopped: ...".
void print_failure(const Failure& failure);
// Prints "penstock: error: ..." on standard error.
void print_error(const std::string& what);
// Prints, for a job that hangs, a line for what each rank is in, and the error last.
void print_hang(const HangReport& report);
// Prints the failure with which this rank ends. When every rank has it, rank 0 prints, and the exit
// code is returned with which all ranks leave main(). Otherwise this does not return: it prints and
// ends the whole job. All ranks but rank 0 wait a moment before, so that, when several fail for one
// reason, the lowest of them prints and the job has ended before the others would.
[[nodiscard]] int report(const Session& session, const Failure& failure);

}  // namespace penstock

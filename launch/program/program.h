// launch/program/program.h -- the whole `penstock` program as a function.
#pragma once

#include "runtime/network/models/models.h"

namespace penstock {

// What main() does: command line, MPI, the command, one line for an error. Returns the exit code.
int run_program(int argc, char** argv, const ModelMaker& models);

}  // namespace penstock

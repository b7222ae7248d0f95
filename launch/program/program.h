// launch/program/program.h -- the whole program `penstock` as a function, so that programs with
// networks of their own can be it, too (launch/penstock.h).
#pragma once

#include "runtime/network/models/models.h"

namespace penstock {

// What main() does: reads the command line, starts MPI where the command needs it, does the
// command, prints one line for an error. `models` builds the networks. Returns the exit code.
int run_program(int argc, char** argv, const ModelMaker& models);

}  // namespace penstock

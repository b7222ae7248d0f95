// launch/program/processor/processor_check.h -- ends a program that was compiled for a newer
// processor with a message and exit code 3, before it meets an instruction that this processor does
// not have.
//
// Without the check such a program (compiled on the login node of a cluster, say, and run on an
// older compute node) dies by SIGILL. The check runs by itself before main() and before all C++
// initializers, those of libraries included, in every program that refers to the variable below.
// Where the kernels are built for several levels of processors it checks for the lowest level; the
// loader chooses among the others.
#pragma once

// Always true when it can be read: where the processor does not fit, the program has ended before.
extern "C" const bool penstock_processor_fits;

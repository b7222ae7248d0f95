// launch/program/processor/processor_check.h -- makes a program that was compiled for another
// processor say so, and end with code 3, before it meets an instruction that this one lacks.
//
// Without the check such a program, typically one that was compiled on the login node, dies by
// SIGILL at the first such instruction. The check runs by itself, before main() and before all
// initializers of C++, those of libraries too, in programs that refer to the variable below.
// Where kernels are built for several levels of processors it checks for the lowest level; the
// loader chooses among the others.
#pragma once

// Always true: where the processor does not fit, the check has ended the program.
extern "C" const bool penstock_processor_fits;

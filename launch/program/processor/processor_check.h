// launch/program/processor/processor_check.h -- a program that was compiled for another processor
// says so, and ends with code 3, before its first instruction that is not there.
//
// Without it such a program dies by SIGILL, wherever it meets the first one: typically one that was
// compiled for the login node. The check runs by itself, before main() and before all that C++
// makes beforehand, in libraries too; it is linked in by whoever refers to the variable. Of several
// levels of kernels it asks for the first, and the loader for the others.
#pragma once

extern "C" const bool penstock_processor_fits;  // always true: where it would not be, nothing runs

// launch/program/processor/features.h -- instruction sets as a processor reports them (CPUID).
//
// Plain data and C's types only: processor_check.cpp, which includes this, is compiled for the
// oldest processor. The linker keeps one copy of an inline function of C++'s library for all files,
// and that copy may be one that was compiled for a newer processor.
#pragma once

// The registers of CPUID's answers that name the instruction sets a compiler may use.
enum ProcessorWord {
  kLeaf1Ecx,
  kLeaf7Ebx,
  kLeaf7Ecx,
  kLeaf7Edx,
  kLeaf7Eax1,  // eax of leaf 7, subleaf 1
  kExtendedEcx,
  kProcessorWords
};

struct ProcessorFeature {
  const char* name;
  enum ProcessorWord word;
  int bit;
};

// The instruction sets that the rest of the program was compiled to use, ending with a null name;
// and the -march that it was compiled with.
extern "C" const struct ProcessorFeature penstock_built_for[];
extern "C" const char* const penstock_built_by;

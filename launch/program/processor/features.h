// launch/program/processor/features.h -- instruction sets as a processor reports them (CPUID).
//
// Plain data and C's types only: processor_check.cpp, which includes this, is compiled for the
// oldest processor, and an inline function of C++'s library would be shared with files that are
// not.
#pragma once

// The answers of CPUID that hold what a compiler may use.
enum ProcessorWord {
  kLeaf1Ecx,
  kLeaf7Ebx,
  kLeaf7Ecx,
  kLeaf7Edx,
  kLeaf7Eax1,  // of its second part
  kExtendedEcx,
  kProcessorWords
};

struct ProcessorFeature {
  const char* name;
  enum ProcessorWord word;
  int bit;
};

// What the rest of the program was compiled to use, and by which -march. Ends with a null name.
extern "C" const struct ProcessorFeature penstock_built_for[];
extern "C" const char* const penstock_built_by;

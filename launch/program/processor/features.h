// launch/program/processor/features.h -- the instruction sets (AVX2, ...) that the program was
// compiled to use, as data, for the check at its start that this processor has them
// (processor_check.h).
//
// The header has plain data and C's types only. processor_check.cpp, which includes it, is compiled
// for the oldest processor, while the rest may be compiled for a newer one. Of an inline function
// of the C++ library the linker keeps one copy for all files; it might be one for the newer
// processor, and the check itself would die of it.
#pragma once

// The words of CPUID's answers in which the bits of instruction sets are.
enum ProcessorWord {
  kLeaf1Ecx,
  kLeaf7Ebx,
  kLeaf7Ecx,
  kLeaf7Edx,
  kLeaf7Eax1,      // eax of leaf 7, subleaf 1
  kExtendedEcx,    // ecx of leaf 0x80000001
  kProcessorWords  // how many words there are
};

// One instruction set: it is there when bit `bit` of the word is 1.
struct ProcessorFeature {
  const char* name;
  enum ProcessorWord word;
  int bit;
};

// All instruction sets that the program was compiled to use; the last entry has a null name.
extern "C" const struct ProcessorFeature penstock_built_for[];
// The compiler's -march option, for the message.
extern "C" const char* const penstock_built_by;

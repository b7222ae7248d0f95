// launch/program/processor/built_for.cpp -- what the compiler was allowed to use: compiled like
// the rest of the program, and data alone.
#include "launch/program/processor/features.h"

extern "C" {

extern const char* const penstock_built_by = PENSTOCK_ARCH_NAME;

extern const ProcessorFeature penstock_built_for[] = {
#ifdef __SSE3__
    {"sse3", kLeaf1Ecx, 0},
#endif
#ifdef __SSSE3__
    {"ssse3", kLeaf1Ecx, 9},
#endif
#ifdef __SSE4_1__
    {"sse4.1", kLeaf1Ecx, 19},
#endif
#ifdef __SSE4_2__
    {"sse4.2", kLeaf1Ecx, 20},
#endif
#ifdef __MOVBE__
    {"movbe", kLeaf1Ecx, 22},
#endif
#ifdef __POPCNT__
    {"popcnt", kLeaf1Ecx, 23},
#endif
#ifdef __AVX__
    {"avx", kLeaf1Ecx, 28},
#endif
#ifdef __F16C__
    {"f16c", kLeaf1Ecx, 29},
#endif
#ifdef __FMA__
    {"fma", kLeaf1Ecx, 12},
#endif
#ifdef __LZCNT__
    {"lzcnt", kExtendedEcx, 5},
#endif
#ifdef __BMI__
    {"bmi", kLeaf7Ebx, 3},
#endif
#ifdef __AVX2__
    {"avx2", kLeaf7Ebx, 5},
#endif
#ifdef __BMI2__
    {"bmi2", kLeaf7Ebx, 8},
#endif
#ifdef __AVX512F__
    {"avx512f", kLeaf7Ebx, 16},
#endif
#ifdef __AVX512DQ__
    {"avx512dq", kLeaf7Ebx, 17},
#endif
#ifdef __AVX512IFMA__
    {"avx512ifma", kLeaf7Ebx, 21},
#endif
#ifdef __AVX512CD__
    {"avx512cd", kLeaf7Ebx, 28},
#endif
#ifdef __AVX512BW__
    {"avx512bw", kLeaf7Ebx, 30},
#endif
#ifdef __AVX512VL__
    {"avx512vl", kLeaf7Ebx, 31},
#endif
#ifdef __AVX512VBMI__
    {"avx512vbmi", kLeaf7Ecx, 1},
#endif
#ifdef __AVX512VBMI2__
    {"avx512vbmi2", kLeaf7Ecx, 6},
#endif
#ifdef __GFNI__
    {"gfni", kLeaf7Ecx, 8},
#endif
#ifdef __VAES__
    {"vaes", kLeaf7Ecx, 9},
#endif
#ifdef __AVX512VNNI__
    {"avx512vnni", kLeaf7Ecx, 11},
#endif
#ifdef __AVX512BITALG__
    {"avx512bitalg", kLeaf7Ecx, 12},
#endif
#ifdef __AVX512VPOPCNTDQ__
    {"avx512vpopcntdq", kLeaf7Ecx, 14},
#endif
#ifdef __AVX512FP16__
    {"avx512fp16", kLeaf7Edx, 23},
#endif
#ifdef __AVXVNNI__
    {"avxvnni", kLeaf7Eax1, 4},
#endif
#ifdef __AVX512BF16__
    {"avx512bf16", kLeaf7Eax1, 5},
#endif
    {nullptr, kLeaf1Ecx, 0},
};

}  // extern "C"

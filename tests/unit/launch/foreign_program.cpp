// A program that was compiled for a processor which nobody has: see processor_test.sh.
#include <cstdio>

#include "launch/program/processor/features.h"
#include "launch/program/processor/processor_check.h"

extern "C" {

extern const char* const penstock_built_by = "x86-64-v99";

extern const ProcessorFeature penstock_built_for[] = {
    {"sse3", kLeaf1Ecx, 0},
    {"avx512-of-tomorrow", kLeaf1Ecx, 16},  // a bit that is kept free
    {nullptr, kLeaf1Ecx, 0},
};

}  // extern "C"

extern "C" int foreign_library_begun();

namespace {

// What a constructor would do before main(). Not on stdout, whose buffer an early end loses.
const int begun = std::fputs("has begun\n", stderr);

}  // namespace

int main() {
  return penstock_processor_fits && begun >= 0 && foreign_library_begun() >= 0 ? 0 : 1;
}

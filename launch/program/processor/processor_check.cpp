// launch/program/processor/processor_check.cpp -- see processor_check.h. Compiled for the oldest
// processor of its kind, and C inside: see features.h.
#include "launch/program/processor/processor_check.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <stdio.h>   // NOLINT(modernize-deprecated-headers)
#include <string.h>  // NOLINT(modernize-deprecated-headers)
#include <unistd.h>

#include "launch/program/processor/features.h"

extern "C" const bool penstock_processor_fits = true;

namespace {

// Returns which registers the system saves (XCR0). A program can use vector registers only if the
// system saves them.
unsigned long long saved_registers(unsigned leaf1_ecx) {
  constexpr int kSystemSaves = 27;
  if ((leaf1_ecx >> kSystemSaves & 1U) == 0) return 0;
  unsigned low = 0;
  unsigned high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<unsigned long long>(high) << 32U | low;
}

void read_words(unsigned* words) {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) words[kLeaf1Ecx] = c;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) {
    words[kLeaf7Ebx] = b;
    words[kLeaf7Ecx] = c;
    words[kLeaf7Edx] = d;
    if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) words[kLeaf7Eax1] = a;
  }
  if (__get_cpuid(0x80000001U, &a, &b, &c, &d) != 0) words[kExtendedEcx] = c;
}

bool is_there(const ProcessorFeature& feature, const unsigned* words, unsigned long long saved) {
  constexpr unsigned long long kWide = 0x06;    // the bits of xmm and ymm
  constexpr unsigned long long kWidest = 0xe6;  // the bits of kWide, and those that AVX-512 adds
  const bool widest = strncmp(feature.name, "avx512", 6) == 0;
  const bool wide = strncmp(feature.name, "avx", 3) == 0 || strcmp(feature.name, "fma") == 0;
  if (widest && (saved & kWidest) != kWidest) return false;
  if (wide && (saved & kWide) != kWide) return false;
  return (words[feature.word] >> feature.bit & 1U) != 0;
}

// Returns a variable's value, or null. It does not call getenv(), which does not know the
// environment yet when this runs.
const char* value_of(const char* name, char** environment) {
  const size_t length = strlen(name);
  for (char** each = environment; *each != nullptr; ++each) {
    if (strncmp(*each, name, length) == 0 && (*each)[length] == '=') return *each + length + 1;
  }
  return nullptr;
}

// Returns whether this process prints the message: one rank of each host does.
bool speaks(char** environment) {
  const char* const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK",
                               "MPI_LOCALRANKID",
                               "MV2_COMM_WORLD_LOCAL_RANK",
                               "FLUX_TASK_LOCAL_ID",
                               "PALS_LOCAL_RANKID",
                               "JSM_NAMESPACE_LOCAL_RANK",
                               "SLURM_LOCALID"};
  for (const char* name : names) {
    const char* value = value_of(name, environment);
    if (value != nullptr) return strcmp(value, "0") == 0;
  }
  return true;
}

void read_name(char* name) {  // `name` has room for 49 bytes
  unsigned words[12] = {};
  for (size_t i = 0; i < 3; ++i) {
    unsigned* part = words + 4 * i;
    if (__get_cpuid(0x80000002U + static_cast<unsigned>(i), part, part + 1, part + 2, part + 3) ==
        0)
      return;
  }
  memcpy(name, words, sizeof words);
}

[[noreturn]] void refuse(const char* missing, char** environment) {
  if (speaks(environment)) {
    char host[256] = "?";
    (void)gethostname(host, sizeof host - 1);
    char name[49] = "this processor";
    read_name(name);
    char line[1024];
    (void)snprintf(line, sizeof line,
                   "penstock: error: host %s: this program was compiled with "
                   "-DPENSTOCK_ARCH=%s for a processor that has%s; %s has not: compile it with "
                   "-DPENSTOCK_ARCH=x86-64-v3 (or v2, v4), or on this kind of host\n",
                   host, penstock_built_by, missing, name);
    (void)!write(STDERR_FILENO, line, strlen(line));
  }
  _exit(3);  // the exit code of ErrorKind::Resource
}

void check_processor(int /*count*/, char** /*arguments*/, char** environment) {
  unsigned words[kProcessorWords] = {};
  read_words(words);
  const unsigned long long saved = saved_registers(words[kLeaf1Ecx]);
  char missing[256] = "";
  size_t length = 0;
  for (const ProcessorFeature* feature = penstock_built_for; feature->name != nullptr; ++feature) {
    if (is_there(*feature, words, saved)) continue;
    const size_t more = strlen(feature->name) + 1;
    if (length + more >= sizeof missing) break;
    missing[length] = ' ';
    memcpy(missing + length + 1, feature->name, more);
    length += more;
  }
  if (length > 0) refuse(missing, environment);
}

// The check runs before all constructors. The constructors of shared libraries run before any of
// the program's, and a shared library can be one of ours, compiled for the same processor.
using Check = void (*)(int, char**, char**);
__attribute__((section(".preinit_array"), used)) Check check_first = check_processor;
// musl has no such list of functions, so the check is a constructor as well. Constructors without a
// number run after it.
__attribute__((constructor(101))) void check_again() {
  check_processor(0, nullptr, environ);
}

}  // namespace

#else  // other processors have few levels, and are not checked

extern "C" const bool penstock_processor_fits = true;

#endif

// kernels/fault.h -- Fault: what a failed call of a library means for who runs the program: that
// memory ran out, that a device or something it needs is missing, that there is a bug, or that
// another rank is gone. Each library has its own table from statuses to faults.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/error.h"

namespace penstock {

enum class Fault : uint8_t {
  Memory,   // of a device or a host: a smaller run would do
  Missing,  // a device, a driver or a resource of the system: absent, lost, broken or too old
  Bug,      // ours or the library's: it was called wrongly, or its kernel went astray
  Peer,     // another rank is gone
};

// Every error for want of memory has this text at the beginning of Error::what(), or right behind
// the name of a rank there ("rank 3: "); no other error has it.
inline constexpr const char* kOutOfMemory = "out of memory: ";

// Throws Error(Resource): "out of memory: <what>: use more stages, ...".
[[noreturn]] void fail_out_of_memory(const std::string& what);
// Throws the Error that a fault is: Memory and Missing are Resource, Bug is Internal, Peer is Peer.
// `what` says which call failed, and the library's words; `advice` (may be empty) what to do or,
// for a Bug, what else to report.
[[noreturn]] void fail_by(Fault fault, const std::string& what, const std::string& advice = "");

}  // namespace penstock

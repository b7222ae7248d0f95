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

// The text that Error::what() begins with for every error for want of memory, and for no other
// error. (A line that names a rank has that name before it.)
inline constexpr const char* kOutOfMemory = "out of memory: ";

// Throws Error(Resource): "out of memory: <what>: use more stages, ...".
[[noreturn]] void fail_out_of_memory(const std::string& what);
// Throws the Error that a fault is: Memory and Missing are Resource, Bug is Internal, Peer is Peer.
// `what` says which call failed, and the library's words; `advice` (may be empty) what to do or,
// for a Bug, what else to report.
[[noreturn]] void fail_by(Fault fault, const std::string& what, const std::string& advice = "");

}  // namespace penstock

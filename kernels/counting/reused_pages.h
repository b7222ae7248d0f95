// kernels/counting/reused_pages.h -- memory that many tensors share: every tensor has addresses of
// its own, which may be read and written, and all of them lead to the same few pages.
//
// It serves devices whose tensors have no contents but whose messages are real: MPI reads and
// writes such memory like any other, in its real size, and a network of any size needs a few MiB a
// rank.
#pragma once

#include <memory>

#include "kernels/memory/memory.h"

namespace penstock {

// Addresses that are given back are not used again. Throws Error(Resource) where the system has no
// such pages.
[[nodiscard]] std::unique_ptr<MemorySource> reused_pages_source();

}  // namespace penstock

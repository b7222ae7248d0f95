// runtime/comm/staged.h -- links and reductions for a device whose memory MPI cannot read: through
// host memory, around the ends that work on host memory.
//
// Relies on Device::copy_to_host and copy_from_host having done with the host's bytes when they
// return.
#pragma once

#include <memory>

#include "kernels/device.h"
#include "runtime/comm/network.h"

namespace penstock {

// `host` is where the copies live; it and `device` must outlive what is returned.
[[nodiscard]] std::unique_ptr<SendLink> staged(std::unique_ptr<SendLink> inner, Device& device,
                                               Memory& host);
// `inner` receives into host memory.
[[nodiscard]] std::unique_ptr<ReceiveLink> staged(std::unique_ptr<ReceiveLink> inner,
                                                  Device& device);
[[nodiscard]] std::unique_ptr<ReduceGroup> staged(std::unique_ptr<ReduceGroup> inner,
                                                  Device& device, Memory& host);

}  // namespace penstock

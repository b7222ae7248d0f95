// tests/distributed/host_transports.cpp -- plain MPI between hosts.
#include "tests/distributed/transports.h"
#include "tests/support/host_device.h"

namespace penstock {

std::vector<TestTransport> test_transports() {
  return {{.name = "Mpi",
           .make_device = [] { return std::unique_ptr<Device>(std::make_unique<HostDevice>()); }}};
}

}  // namespace penstock

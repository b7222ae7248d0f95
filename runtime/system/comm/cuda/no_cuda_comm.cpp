// runtime/system/comm/cuda/no_cuda_comm.cpp -- stands for the CUDA links in a build without the
// toolkit. A device that would need them cannot be made there, so being asked for one is a bug.
#include "kernels/error.h"
#include "runtime/system/comm/accelerated.h"
#include "runtime/system/comm/cuda_versions.h"

namespace penstock {
namespace {

[[noreturn]] void fail_absent() {
  fail_internal("this program was built without the links of CUDA devices");
}

}  // namespace

std::unique_ptr<MemorySource> shareable_memory_source() {
  fail_absent();
}

std::unique_ptr<SendLink> staged_send(std::unique_ptr<MpiSendLink> /*inner*/, Device& /*device*/,
                                      Memory& /*twins*/, Pollers& /*pollers*/) {
  fail_absent();
}

std::unique_ptr<ReceiveLink> staged_receive(std::unique_ptr<MpiReceiveLink> /*inner*/,
                                            Device& /*device*/, Pollers& /*pollers*/) {
  fail_absent();
}

std::unique_ptr<ReduceGroup> staged_sums(std::unique_ptr<MpiReduceGroup> /*inner*/,
                                         Device& /*device*/, Pollers& /*pollers*/) {
  fail_absent();
}

int processors_of(Device& /*device*/) {
  fail_absent();
}

std::unique_ptr<SendLink> nccl_send(EdgeComm /*edge*/, Device& /*device*/, int /*window*/,
                                    Pollers& /*pollers*/) {
  fail_absent();
}

std::unique_ptr<ReceiveLink> nccl_receive(EdgeComm /*edge*/, Device& /*device*/,
                                          Pollers& /*pollers*/) {
  fail_absent();
}

std::unique_ptr<ReduceGroup> nccl_sums(CommHandle /*comm*/, const std::string& /*name*/,
                                       int /*blocks*/, Device& /*device*/, Pollers& /*pollers*/) {
  fail_absent();
}

std::string nccl_version() {
  return {};
}

std::vector<std::string> cuda_library_versions() {
  return {};
}

}  // namespace penstock

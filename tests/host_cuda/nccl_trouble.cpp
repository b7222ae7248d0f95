#include "tests/host_cuda/nccl_trouble.h"

#include <cstdlib>
#include <map>
#include <string>

#include "tests/host_cuda/machine.h"
#include "tests/host_cuda/stop.h"

namespace penstock::host_cuda {

NcclTrouble trouble_of_next_launch() {
  static int64_t launches = 0;
  ++launches;
  const char* const variable = std::getenv("PENSTOCK_HOST_NCCL");
  if (variable == nullptr || *variable == '\0') return NcclTrouble::None;
  const std::string wish = variable;
  const size_t colon = wish.find(':');
  const std::string kind = wish.substr(0, colon);
  if (colon == std::string::npos || (kind != "silent" && kind != "error")) {
    stop("PENSTOCK_HOST_NCCL is silent:N or error:N, not " + wish);
  }
  if (launches <= std::atoll(wish.c_str() + colon + 1)) return NcclTrouble::None;
  return kind == "silent" ? NcclTrouble::Silent : NcclTrouble::Error;
}

namespace {

int& held(int device) {
  static std::map<int, int> blocks;
  return blocks[device];
}

}  // namespace

void hold_processors(int device, int blocks) {
  if ((held(device) += blocks) <= kProcessors) return;
  stop("the kernels of NCCL that wait on device " + std::to_string(device) + " hold " +
       std::to_string(held(device)) + " multiprocessors of " + std::to_string(kProcessors));
}

void free_processors(int device, int blocks) {
  held(device) -= blocks;
}

}  // namespace penstock::host_cuda

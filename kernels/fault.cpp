#include "kernels/fault.h"

namespace penstock {

void fail_out_of_memory(const std::string& what) {
  fail_resource(kOutOfMemory + what +
                ": use more stages, smaller micro-batches or --recompute stage");
}

void fail_by(Fault fault, const std::string& what, const std::string& advice) {
  switch (fault) {
    case Fault::Memory:
      fail_out_of_memory(what);
    case Fault::Missing:
      fail_resource(what + (advice.empty() ? "" : ": " + advice));
    case Fault::Peer:
      fail_peer(what + (advice.empty() ? "" : ": " + advice));
    case Fault::Bug:
      break;
  }
  fail_internal(what + ": this is a bug; please report this line with the run file and what " +
                "`penstock info` says" + (advice.empty() ? "" : ", " + advice));
}

}  // namespace penstock

#include "runtime/system/comm/pollers.h"

#include "kernels/error.h"

namespace penstock {
namespace {

std::string seconds_text(std::chrono::milliseconds time) {
  const auto whole = time.count() / 1000;
  return time.count() % 1000 == 0 ? std::to_string(whole) + " s"
                                  : std::to_string(time.count()) + " ms";
}

}  // namespace

std::string Pollers::others_than(const std::string& what) const {
  std::string others;
  for (const Poller* poller : all_) {
    const std::string awaited = poller->awaited();
    if (awaited.empty() || awaited == what) continue;
    others += (others.empty() ? "under way: " : ", ") + awaited;
  }
  return others;
}

void Pollers::give_up(const std::string& what) const {
  const std::string others = others_than(what);
  fail_peer(what + ": nothing has come within " + seconds_text(limit_) +
            (others.empty() ? "" : "; " + others) +
            "; has another rank stopped? If a step may take so long, raise run.wait_limit");
}

void Pollers::tell_more(const std::string& what) const {
  if (activity_log_ == nullptr) return;
  const std::string others = others_than(what);
  if (!others.empty()) activity_log_->add_detail(others);
}

}  // namespace penstock

// runtime/engine/training/dry_run/virtual_mail.h -- VirtualMail: tells the other ranks of a
// pipeline at which virtual time something has happened: that a message has arrived, or was
// received.
//
// These few bytes travel beside the real messages, so that those keep their sizes, and a run that
// computes pays nothing for them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "runtime/system/comm/network.h"

namespace penstock {

class VirtualMail {
 public:
  // `members`: the ranks that write to one another. It must outlive this, and nobody else may give
  // and take in it.
  explicit VirtualMail(Collective& members) : members_(members) {}

  // Tells rank `to` the time, in seconds, of its next event of that kind.
  void post(int to, int64_t kind, double moment);
  // The time of the next event of that kind which rank `from` has told or is going to tell: blocks
  // until it has.
  [[nodiscard]] double take(int from, int64_t kind);

 private:
  Collective& members_;
  std::map<std::pair<int, int64_t>, std::deque<double>> unread_;  // by sender and kind
};

}  // namespace penstock

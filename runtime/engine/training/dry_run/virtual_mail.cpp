#include "runtime/engine/training/dry_run/virtual_mail.h"

#include <span>

namespace penstock {
namespace {

struct Letter {
  int64_t kind = 0;
  double moment = 0;
};

}  // namespace

void VirtualMail::post(int to, int64_t kind, double moment) {
  const Letter letter{kind, moment};
  members_.give(std::as_bytes(std::span(&letter, 1)), to);
}

double VirtualMail::take(int from, int64_t kind) {
  std::deque<double>& wanted = unread_[{from, kind}];
  while (wanted.empty()) {
    Letter letter;
    members_.take(std::as_writable_bytes(std::span(&letter, 1)), from);
    unread_[{from, letter.kind}].push_back(letter.moment);
  }
  const double moment = wanted.front();
  wanted.pop_front();
  return moment;
}

}  // namespace penstock

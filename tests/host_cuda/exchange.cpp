#include "tests/host_cuda/exchange.h"

#include <algorithm>
#include <array>
#include <string>

#include "tests/host_cuda/chance.h"
#include "tests/host_cuda/stop.h"

namespace penstock::host_cuda {

ExchangeRun::ExchangeRun(const Exchange& exchange, Wire& wire)
    : exchange_(exchange), wire_(wire), waits_for_receivers_(chance(2) == 0) {
  for (const auto& message : exchange.sends) {
    sends_.push_back({.message = message, .header = message.size_bytes});
  }
  for (const auto& message : exchange.receives) receives_.push_back({.message = message});
}

template <class Move>
bool ExchangeRun::advance(std::vector<Transfer>& transfers, const Move& move) {
  std::array<bool, Wire::kMostMembers> behind{};  // this peer's earlier message has not ended
  bool all = true;
  for (Transfer& transfer : transfers) {
    bool& waits = behind[static_cast<size_t>(transfer.message.peer)];
    if (!waits && !transfer.ended()) move(transfer);
    waits = waits || !transfer.ended();
    all = all && transfer.ended();
  }
  return all;
}

bool ExchangeRun::progress() {
  if (!begun_) {
    for (const auto& work : exchange_.first) work();
    begun_ = true;
  }
  const bool sent = advance(sends_, [this](Transfer& t) {
    const int to = t.message.peer;
    const auto* header = reinterpret_cast<const std::byte*>(&t.header);
    t.header_done += wire_.send(to, header + t.header_done, sizeof(t.header) - t.header_done);
    if (t.header_done < sizeof(t.header)) return;
    t.done += wire_.send(to, t.message.bytes + t.done, t.message.size_bytes - t.done);
  });
  const bool come = advance(receives_, [this](Transfer& t) {
    const int from = t.message.peer;
    auto* header = reinterpret_cast<std::byte*>(&t.header);
    t.header_done += wire_.receive(from, header + t.header_done, sizeof(t.header) - t.header_done);
    if (t.header_done < sizeof(t.header)) return;
    if (t.header != t.message.size_bytes) {
      stop("a message of " + std::to_string(t.header) + " bytes came from rank " +
           std::to_string(from) + " where " + std::to_string(t.message.size_bytes) +
           " are expected");
    }
    t.done += wire_.receive(from, t.message.bytes + t.done, t.message.size_bytes - t.done);
  });
  if (!sent || !come) return false;
  const bool received = std::all_of(sends_.begin(), sends_.end(), [this](const Transfer& t) {
    return wire_.all_received(t.message.peer);
  });
  if (waits_for_receivers_ && !received) return false;
  for (const auto& work : exchange_.last) work();
  return true;
}

}  // namespace penstock::host_cuda

// tests/host_cuda/exchange.h -- Exchange: the sends and receives of one launch of the emulated NCCL
// (README.md), all at the same time, and the computations before and after them. Messages between
// two members keep their order. They go over a Wire (wire.h), memory that the processes share.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "tests/host_cuda/wire.h"

namespace penstock::host_cuda {

struct Exchange {
  struct Message {
    int peer = 0;
    std::byte* bytes = nullptr;
    size_t size_bytes = 0;
  };
  std::vector<Message> sends, receives;
  std::vector<std::function<void()>> first;  // called before any byte leaves
  std::vector<std::function<void()>> last;   // called after the last byte has come
};

// One run of an exchange.
class ExchangeRun {
 public:
  // Both arguments, and what `exchange` points to, must live until the run has ended.
  ExchangeRun(const Exchange& exchange, Wire& wire);
  // Moves the bytes that can be moved now. Returns whether all has been sent and has come. Stops
  // the program when the two ends of a message differ in its size.
  bool progress();

 private:
  struct Transfer {
    Exchange::Message message;
    size_t header_done = 0;  // the size goes ahead of the bytes
    size_t done = 0;
    uint64_t header = 0;
    [[nodiscard]] bool ended() const {
      return header_done == sizeof(header) && done == message.size_bytes;
    }
  };
  // Moves the first message of each peer that has not ended.
  template <class Move>
  static bool advance(std::vector<Transfer>& transfers, const Move& move);

  const Exchange& exchange_;
  Wire& wire_;
  bool begun_ = false;
  bool waits_for_receivers_;  // as large messages do; small ones may lie in the ring
  std::vector<Transfer> sends_, receives_;
};

}  // namespace penstock::host_cuda

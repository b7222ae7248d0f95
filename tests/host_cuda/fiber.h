// tests/host_cuda/fiber.h -- Fiber: a stack of its own that control is handed to and back by name,
// a few instructions each time. The threads of a block run on fibers.
#pragma once

#include <cstddef>

namespace penstock::host_cuda {

class Fiber {
 public:
  // Calls `body` when control first comes to it; `body` never returns.
  explicit Fiber(void (*body)());
  // The stack that runs already, without one of its own.
  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Goes on where `to` left off; returns when someone hands control back to this fiber.
  void hand_over(Fiber& to);

 private:
  void* top_ = nullptr;    // where its registers lie while it is not running
  void* stack_ = nullptr;  // with a page below it that cannot be touched
};

}  // namespace penstock::host_cuda

// tests/host_cuda/fiber.h -- Fiber: a function with a stack of its own, which runs until it hands
// control to another fiber, in a few instructions. The threads of a block run on fibers.
#pragma once

#include <cstddef>

namespace penstock::host_cuda {

class Fiber {
 public:
  // Calls `body` when control first comes to it; `body` never returns.
  explicit Fiber(void (*body)());
  // The fiber of the stack that runs already.
  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Goes on where `to` left off; returns when another fiber hands control back to this one.
  void hand_over(Fiber& to);

 private:
  void* top_ = nullptr;    // where its registers lie while it is not running
  void* stack_ = nullptr;  // with a page below it that cannot be touched
};

}  // namespace penstock::host_cuda

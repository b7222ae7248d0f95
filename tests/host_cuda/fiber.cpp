#include "tests/host_cuda/fiber.h"

#include <sys/mman.h>

#include <cstdint>

#include "tests/host_cuda/stop.h"

#ifndef __x86_64__
#error "the host emulation of CUDA switches stacks in x86-64 code"
#endif

// Leaves the registers that a call preserves on this stack, its top in *from, and takes up `to`.
extern "C" void penstock_host_cuda_switch(void** from, void* to);
asm(R"(
  .text
  .globl penstock_host_cuda_switch
  .type penstock_host_cuda_switch, @function
penstock_host_cuda_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size penstock_host_cuda_switch, .-penstock_host_cuda_switch
)");

namespace penstock::host_cuda {
namespace {

constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kGuardBytes = 4096;
constexpr int kSavedRegisters = 6;

}  // namespace

Fiber::Fiber(void (*body)()) {
  stack_ = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack_ == MAP_FAILED) stop("no memory for the stack of a thread");
  mprotect(stack_, kGuardBytes, PROT_NONE);
  // The stack looks as if `body` had been called from nowhere and switched away from at once.
  auto* end =
      reinterpret_cast<uintptr_t*>(static_cast<std::byte*>(stack_) + kGuardBytes + kStackBytes);
  *--end = 0;
  *--end = reinterpret_cast<uintptr_t>(body);
  for (int i = 0; i < kSavedRegisters; ++i) *--end = 0;
  top_ = end;
}

Fiber::~Fiber() {
  if (stack_ != nullptr) munmap(stack_, kGuardBytes + kStackBytes);
}

void Fiber::hand_over(Fiber& to) {
  penstock_host_cuda_switch(&top_, to.top_);
}

}  // namespace penstock::host_cuda

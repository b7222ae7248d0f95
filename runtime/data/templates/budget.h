// runtime/data/templates/budget.h -- Budget: limits the memory and the work that running one chat
// template once may take; Charge: an amount of memory that counts in a budget as long as it is
// held.
//
// A template comes with somebody's model and is a program: `{% set x = x ~ x %}` in a loop doubles
// a text until the machine has no memory left. So the memory of every value counts in the budget,
// and so does work, in bytes that are read or written. Work is counted and not timed, since every
// rank must come to the same result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "kernels/error.h"

namespace penstock::jinja {

// Throws Error(Input) "the chat template <what>"; `what` begins with a verb.
[[noreturn]] inline void fail_template(const std::string& what) {
  fail_input("the chat template " + what);
}

class Budget {
 public:
  static constexpr size_t kMostBytes = size_t{64} << 20;
  static constexpr uint64_t kMostWork = 2'000'000'000;  // bytes; it takes at most 5 seconds
  static constexpr uint64_t kStep = 64;  // the work that running one Node of a template counts as

  Budget() = default;
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // hold() counts `bytes` of memory as taken, until release() counts them as given back. work()
  // counts bytes that are read or written. Both throw Error(Input) if the sum is above its limit.
  void hold(size_t bytes) {
    work(bytes);
    if (bytes > kMostBytes - held_) fail_template("needs more than 64 MiB of memory");
    held_ += bytes;
  }
  void work(uint64_t bytes) {
    if (bytes > kMostWork - worked_) fail_template("computes for too long");
    worked_ += bytes;
  }
  void release(size_t bytes) noexcept { held_ -= bytes; }

 private:
  size_t held_ = 0;
  uint64_t worked_ = 0;
};

// Holds `bytes` of a budget, which must outlive it, until it is destroyed or assigned to. It
// belongs beside the memory that it stands for; it allocates none itself. A default one holds
// nothing.
class Charge {
 public:
  Charge() = default;
  Charge(Budget& budget, size_t bytes) : budget_(&budget), bytes_(bytes) { budget.hold(bytes); }
  ~Charge() { reset(); }
  Charge(Charge&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_) {}
  Charge& operator=(Charge&& other) noexcept {
    if (this != &other) {
      reset();
      budget_ = std::exchange(other.budget_, nullptr);
      bytes_ = other.bytes_;
    }
    return *this;
  }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

 private:
  void reset() noexcept {
    if (budget_ != nullptr) budget_->release(bytes_);
    budget_ = nullptr;
  }

  Budget* budget_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace penstock::jinja

// runtime/data/templates/budget.h -- Budget: limits the memory and work of one rendering of a
// template; Charge: memory that counts in it.
//
// A template comes with somebody's model and is a program: `{% set x = x ~ x %}` in a loop doubles
// a text until the machine has no memory left. So the memory of every value counts in a budget, and
// so does everything that takes time. Work is counted and not timed, since every rank must come to
// the same answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "kernels/error.h"

namespace penstock::jinja {

// Throws Error(Input) "the chat template <what>".
[[noreturn]] inline void fail_template(const std::string& what) {
  fail_input("the chat template " + what);
}

class Budget {
 public:
  static constexpr size_t kMostBytes = size_t{64} << 20;
  static constexpr uint64_t kMostWork = 2'000'000'000;  // bytes gone over: at most 5 seconds
  static constexpr uint64_t kStep = 64;                 // the work of one Node of the template

  Budget() = default;
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // hold() takes memory until release() gives it back; work() counts bytes that are gone over.
  // hold() and work() throw Error(Input) where it becomes too much.
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

// Holds bytes of a budget, which must outlive this, until it is destroyed.
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

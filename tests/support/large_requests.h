// tests/support/large_requests.h -- counts the requests of a program to the heap that are as large
// as a list whose length hangs on the data. It replaces operator new, so exactly one file of a
// program includes it.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

namespace penstock {

inline constexpr size_t kLargeRequest = 32 << 10;  // bytes
inline std::atomic<int> large_requests{0};         // of the whole program

}  // namespace penstock

// Not inlined: the compiler would see free() of what it knows came from new.
[[gnu::noinline]] void* operator new(size_t size_bytes) {
  if (size_bytes >= penstock::kLargeRequest) ++penstock::large_requests;
  void* place = std::malloc(size_bytes);
  if (place == nullptr) throw std::bad_alloc();
  return place;
}
[[gnu::noinline]] void operator delete(void* place) noexcept {
  std::free(place);
}
[[gnu::noinline]] void operator delete(void* place, size_t /*size_bytes*/) noexcept {
  std::free(place);
}

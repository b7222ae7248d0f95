// tests/support/thread_count.cpp -- counts the threads that a program makes. Loaded before all
// other libraries (LD_PRELOAD), it appends the number to the file that the variable THREAD_COUNT
// names when the program ends; a program that is started by it appends a line of its own.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <fstream>

namespace {

std::atomic<int> made = 0;

struct AtTheEnd {
  ~AtTheEnd() {
    if (const char* file = std::getenv("THREAD_COUNT")) {
      std::ofstream(file, std::ios::app) << made << '\n';
    }
  }
} at_the_end;

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*routine)(void*), void* argument) noexcept {
  static const auto next =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  ++made;
  return next(thread, attributes, routine, argument);
}

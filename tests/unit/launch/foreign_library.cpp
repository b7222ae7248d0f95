// A library of a program for another processor, with a constructor that must not run there either.
#include <cstdio>

extern "C" int foreign_library_begun() {
  static const int begun = std::fputs("the library has begun\n", stderr);
  return begun;
}

namespace {

const int kBegun = foreign_library_begun();

}  // namespace

#include "launch/program/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "kernels/error.h"

namespace penstock {

void write_answer(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) {
    fail_resource(fmt::format("standard output cannot be written: {}", std::strerror(errno)));
  }
}

}  // namespace penstock

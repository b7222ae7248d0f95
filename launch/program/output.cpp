#include "launch/program/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "kernels/error.h"
#include "kernels/plain_text.h"

namespace penstock {
namespace {

bool is_terminal() {
  return isatty(STDOUT_FILENO) == 1;
}

}  // namespace

void write_answer(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) {
    fail_resource(fmt::format("standard output cannot be written: {}", std::strerror(errno)));
  }
}

void tell(std::string_view line) {
  fmt::print(stderr, "penstock: {}\n", plain_text(line));
}

void AnswerPieces::write(std::string_view piece) {
  if (is_terminal()) {
    write_answer(plain_.next(piece));
  } else {
    write_answer(piece);
  }
}

void AnswerPieces::end() {
  write_answer(plain_.rest());
}

std::string fit_for_output(const std::string& text) {
  return is_terminal() ? plain_text(text, true) : text;
}

}  // namespace penstock

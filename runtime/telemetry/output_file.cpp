// runtime/telemetry/output_file.cpp -- see output_file.h.
#include "runtime/telemetry/output_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "kernels/error.h"

namespace penstock {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  fail_resource(fmt::format("{}: cannot {}: {}; check --out, its permissions and the free space",
                            path, what, std::strerror(errno)));
}

}  // namespace

LineFile::LineFile(std::string path)
    : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wbe")) {
  if (file_ == nullptr) fail("be created", path_);
}

void LineFile::write_line(const std::string& line) {
  const bool written = std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size() &&
                       std::fputc('\n', file_.get()) != EOF && std::fflush(file_.get()) == 0;
  if (!written) fail("be written", path_);
}

void replace_file(const std::string& path, const std::string& text) {
  const std::string draft = path + ".new";
  std::FILE* file = std::fopen(draft.c_str(), "wbe");
  if (file == nullptr) fail("be created", draft);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
                       std::fflush(file) == 0 && fsync(fileno(file)) == 0;
  const int reason = errno;
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed) {
    if (!written) errno = reason;
    fail("be written", draft);
  }
  if (std::rename(draft.c_str(), path.c_str()) != 0) fail("be replaced", path);
}

}  // namespace penstock

// runtime/records/telemetry/output_file.cpp -- see output_file.h.
#include "runtime/records/telemetry/output_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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

// Returns the end of the last whole line in the first `size` bytes, or 0 if there is none.
off_t end_of_lines(int file, off_t size, const std::string& path) {
  std::array<char, 4096> piece{};
  for (off_t end = size; end > 0;) {
    const off_t begin = std::max<off_t>(0, end - static_cast<off_t>(piece.size()));
    const auto wanted = static_cast<size_t>(end - begin);
    if (pread(file, piece.data(), wanted, begin) != static_cast<ssize_t>(wanted)) {
      fail("be read", path);
    }
    const auto last = std::find(piece.rend() - static_cast<ptrdiff_t>(wanted), piece.rend(), '\n');
    if (last != piece.rend()) return begin + (piece.rend() - last);
    end = begin;
  }
  return 0;
}

void mend_last_line(std::FILE* stream, TornLine torn, const std::string& path) {
  if (torn == TornLine::IsNone) return;
  const int file = fileno(stream);
  struct stat info {};
  if (fstat(file, &info) != 0) fail("be inspected", path);
  if (!S_ISREG(info.st_mode) || info.st_size == 0) return;
  const off_t end = end_of_lines(file, info.st_size, path);
  if (end == info.st_size) return;
  if (torn == TornLine::IsEnded) {
    if (std::fputc('\n', stream) == EOF || std::fflush(stream) != 0) fail("be written", path);
  } else if (ftruncate(file, end) != 0) {
    fail("be written", path);
  }
}

}  // namespace

LineFile::LineFile(std::string path, TornLine torn)
    : path_(std::move(path)), torn_(torn), file_(std::fopen(path_.c_str(), "abe+")) {
  if (file_ == nullptr) fail("be created", path_);
  mend_last_line(file_.get(), torn, path_);
}

bool LineFile::is_gone() const {
  struct stat there {};
  struct stat ours {};
  if (fstat(fileno(file_.get()), &ours) != 0) return false;
  if (stat(path_.c_str(), &there) != 0) return errno == ENOENT;
  return there.st_dev != ours.st_dev || there.st_ino != ours.st_ino;
}

void LineFile::begin_anew() {
  *this = LineFile(path_, torn_);
}

void LineFile::write_line(const std::string& line) {
  write(line + "\n");
}

void LineFile::write(const std::string& bytes) {
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size() &&
                       std::fflush(file_.get()) == 0;
  if (!written) fail("be written", path_);
}

}  // namespace penstock

#include "launch/program/options/bounded_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "kernels/error.h"

namespace penstock {

std::string bounded_text(const std::filesystem::path& path, const std::string& what,
                         size_t most_bytes) {
  constexpr size_t kPiece = size_t{1} << 16;
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status)) {
    fail_input(fmt::format("{}: is a directory, not a {}", path.string(), what));
  }
  if (std::filesystem::is_fifo(status)) {  // to open one is to wait for its writer
    fail_input(fmt::format("{}: is a pipe, not a {}", path.string(), what));
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    fail_input(
        fmt::format("{}: the {} cannot be read: {}", path.string(), what, std::strerror(errno)));
  }
  std::string text;
  while (file && text.size() <= most_bytes) {
    const size_t before = text.size();
    text.resize(before + kPiece);
    file.read(text.data() + before, kPiece);
    text.resize(before + static_cast<size_t>(file.gcount()));
  }
  if (file.bad()) {
    fail_input(
        fmt::format("{}: reading the {} failed: {}", path.string(), what, std::strerror(errno)));
  }
  if (text.size() > most_bytes) {
    fail_input(
        fmt::format("{}: larger than {} MiB, so not a {}", path.string(), most_bytes >> 20, what));
  }
  return text;
}

std::string shortened(std::string text) {
  constexpr size_t kLongest = 60;
  if (text.size() > kLongest) text.replace(kLongest, std::string::npos, "...");
  return text;
}

}  // namespace penstock

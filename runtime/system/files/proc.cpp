#include "runtime/system/files/proc.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <iterator>
#include <limits>
#include <sstream>

#include "runtime/system/files/descriptor.h"

namespace penstock {

std::string system_text(const std::string& path) {
  constexpr size_t kMostBytes = size_t{16} << 20;
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string text;
  std::array<char, 4096> piece{};
  while (file.value() >= 0 && text.size() < kMostBytes) {
    const ssize_t got = read(file.value(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece.data(), static_cast<size_t>(got));
  }
  return text;
}

std::string system_line(const std::string& path) {
  const std::string text = system_text(path);
  return text.substr(0, text.find('\n'));
}

bool process_may_exist(int64_t process) {
  if (process <= 0 || process > std::numeric_limits<pid_t>::max()) return false;
  return kill(static_cast<pid_t>(process), 0) == 0 || errno != ESRCH;
}

std::vector<std::string> process_fields(int64_t process) {
  const std::string line = system_text("/proc/" + std::to_string(process) + "/stat");
  const size_t end = line.rfind(')');
  if (end == std::string::npos) return {};
  std::istringstream words(line.substr(end + 1));
  return {std::istream_iterator<std::string>(words), {}};
}

}  // namespace penstock

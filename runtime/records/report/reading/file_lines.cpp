#include "runtime/records/report/reading/file_lines.h"

#include <algorithm>
#include <filesystem>

#include "kernels/error.h"
#include "runtime/system/files/input_file.h"

namespace penstock {
namespace {

constexpr int64_t kBlockBytes = int64_t{1} << 20;
constexpr size_t kLongestLine = size_t{1} << 20;

}  // namespace

bool read_lines(const std::string& path,
                const std::function<void(std::string_view line, const std::string& where)>& take) {
  const InputFile file(path, FileOwner::Run);
  std::string unread;
  int64_t number = 0;
  for (int64_t offset = 0; offset < file.size_bytes();) {
    const auto size =
        static_cast<size_t>(std::min<int64_t>(kBlockBytes, file.size_bytes() - offset));
    const size_t held = unread.size();
    unread.resize(held + size);
    file.read(offset, unread.data() + held, size);
    offset += static_cast<int64_t>(size);
    size_t begin = 0;
    for (size_t end = unread.find('\n', held); end != std::string::npos;
         end = unread.find('\n', begin)) {
      take(std::string_view(unread).substr(begin, end - begin),
           path + ", line " + std::to_string(++number));
      begin = end + 1;
    }
    unread.erase(0, begin);
    if (unread.size() > kLongestLine) {
      fail_data(path + ", line " + std::to_string(number + 1) + ": longer than any line of a run");
    }
  }
  return !unread.empty();
}

std::vector<std::string> last_lines(const std::string& path, size_t most) {
  constexpr int64_t kTail = 64 << 10;
  if (!std::filesystem::exists(path)) return {};
  const InputFile file(path, FileOwner::Run);
  const int64_t size = std::min(file.size_bytes(), kTail);
  std::string text(static_cast<size_t>(size), '\0');
  file.read(file.size_bytes() - size, text.data(), text.size());
  std::vector<std::string> lines;
  size_t begin = 0;
  // The first line may be cut off, so it is skipped.
  if (size < file.size_bytes()) begin = text.find('\n') + 1;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (lines.size() > most) lines.erase(lines.begin(), lines.end() - static_cast<long>(most));
  return lines;
}

}  // namespace penstock

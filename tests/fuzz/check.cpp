#include "check.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <stdexcept>

#include "kernels/error.h"

namespace penstock::fuzz {
namespace {

constexpr size_t kMostBytes = size_t{64} << 20;

// A number of kilobytes in /proc/self/status, in bytes; 0 where there is none.
size_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1)) << 10;
  }
  return 0;
}

// Memory that is in use beyond what was when this was made. What is reserved and never written to,
// as the window of a decompressor may be, does not count.
class Meter {
 public:
  Meter() {
    std::ofstream("/proc/self/clear_refs") << "5";  // forgets the peak so far
    before_ = status_bytes("VmRSS");
  }
  [[nodiscard]] size_t peak() const {
    const size_t peak = status_bytes("VmHWM");
    return peak > before_ ? peak - before_ : 0;
  }

 private:
  size_t before_ = 0;
};

bool names_a_place(const std::string& message, const std::string& path, const std::string& also) {
  static const std::regex kPlace(R"(^(, (byte|line) \d+|:\d+: ))");
  const size_t at = message.find(path);
  if (at == std::string::npos) return false;
  const std::string rest = message.substr(at + path.size());
  if (std::regex_search(rest, kPlace)) return true;
  if (also.empty()) return false;
  static std::map<std::string, std::regex> made;
  return std::regex_search(rest, made.try_emplace(also, also).first->second);
}

void check_message(const std::string& message, const std::string& path, const std::string& also) {
  const bool one_line = std::all_of(message.begin(), message.end(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' && c != '\x7f';
  });
  if (!one_line) throw std::logic_error("the message is not one plain line");
  if (message.size() > 2000) throw std::logic_error("the message is a page long");
  if (!names_a_place(message, path, also)) {
    throw std::logic_error("the message names no place: " + message);
  }
}

}  // namespace

}  // namespace penstock::fuzz

// The address sanitizer keeps what was freed; here not for long, so that memory is the reader's.
extern "C" const char* __asan_default_options() {
  return "quarantine_size_mb=1";
}

namespace penstock::fuzz {

FuzzResult check_input(const FuzzTarget& target, const std::string& bytes,
                       const std::string& path) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  FuzzResult result;
  const Meter meter;
  try {
    target.read(bytes, path);
    result.accepted = true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Data && error.kind() != ErrorKind::Input) {
      throw std::logic_error(std::string("no error of data: ") + error.what());
    }
    result.message = error.what();
  } catch (const std::invalid_argument& error) {  // of runtime/planning/schedule
    result.message = error.what();
  }
  result.peak_bytes = meter.peak();
  if (result.peak_bytes > bytes.size() + kMostBytes) {
    throw std::logic_error("it took " + std::to_string(result.peak_bytes) + " bytes of memory");
  }
  if (!result.accepted) check_message(result.message, path, target.also);
  return result;
}

}  // namespace penstock::fuzz

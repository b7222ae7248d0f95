#include "check.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <regex>
#include <stdexcept>

#include "kernels/error.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
// As in <sanitizer/allocator_interface.h>, which GCC has the library of and not the header.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void*,
                                                                             size_t),
                                                         void (*free_hook)(const volatile void*));
extern "C" size_t __sanitizer_get_allocated_size(const volatile void* pointer);
#endif

namespace penstock::fuzz {
namespace {

constexpr size_t kMostBytes = size_t{64} << 20;

#ifdef __SANITIZE_ADDRESS__
std::atomic<size_t> live_bytes{0};
std::atomic<size_t> peak_bytes{0};

void on_malloc(const volatile void* /*pointer*/, size_t size) {
  const size_t now = live_bytes += size;
  size_t peak = peak_bytes;
  while (now > peak && !peak_bytes.compare_exchange_weak(peak, now)) {
  }
}

void on_free(const volatile void* pointer) {
  if (pointer != nullptr) live_bytes -= __sanitizer_get_allocated_size(pointer);
}

// Measures the heap of every library from its construction on.
class Meter {
 public:
  Meter() {
    static const int kInstalled = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
    (void)kInstalled;
    before_ = live_bytes;
    peak_bytes = before_;
  }
  [[nodiscard]] size_t peak() const { return peak_bytes - before_; }

 private:
  size_t before_ = 0;
};
#else
struct Meter {
  [[nodiscard]] static size_t peak() { return 0; }
};
#endif

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
  } catch (const std::invalid_argument& error) {  // of runtime/schedule
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

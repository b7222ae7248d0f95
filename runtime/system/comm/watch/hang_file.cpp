#include "runtime/system/comm/watch/hang_file.h"

#include <array>
#include <chrono>
#include <ctime>
#include <future>
#include <memory>
#include <thread>

#include "kernels/error.h"
#include "runtime/system/files/atomic_file.h"

namespace penstock {
namespace {

std::string file_name_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  (void)gmtime_r(&now, &parts);
  std::array<char, 40> text{};
  (void)std::strftime(text.data(), text.size(), "hang-%Y%m%d-%H%M%S.json", &parts);
  return text.data();
}

}  // namespace

std::string leave_hang_file(const std::string& folder, const std::string& text) {
  if (folder.empty()) return {};
  const std::string path = folder + "/" + file_name_now();
  const auto done = std::make_shared<std::promise<bool>>();
  std::future<bool> written = done->get_future();
  std::thread([done, path, text] {
    try {
      replace_file(path, text);
      done->set_value(true);
    } catch (const Error&) {
      done->set_value(false);
    }
  }).detach();
  const bool soon = written.wait_for(std::chrono::seconds(1)) == std::future_status::ready;
  return soon && written.get() ? path : "";
}

}  // namespace penstock

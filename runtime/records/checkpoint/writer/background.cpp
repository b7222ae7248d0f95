#include "runtime/records/checkpoint/writer/background.h"

#include <system_error>
#include <utility>

#include "runtime/records/checkpoint/writer/outcome.h"

namespace penstock {

void Background::start(Work work) {
  busy_.store(true, std::memory_order_release);
  try {
    thread_ = std::jthread([this, work](const std::stop_token& stop) {
      outcome_ = attempt([&] { return work(stop); });
      busy_.store(false, std::memory_order_release);
    });
  } catch (const std::system_error&) {  // no thread can be started: the caller's thread works
    do_now(work);
  }
}

void Background::do_now(const Work& work) {
  outcome_ = attempt([&] { return work(std::stop_token()); });
  busy_.store(false, std::memory_order_release);
}

nlohmann::json Background::wait() {
  if (thread_.joinable()) thread_.join();
  return std::exchange(outcome_, std::nullopt).value_or(nullptr);
}

void Background::stop() {
  thread_.request_stop();
  (void)wait();
}

}  // namespace penstock

// runtime/records/checkpoint/writer/background.h -- Background: runs a piece of work beside the
// training, in a thread, which must call no MPI and touch no device.
#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

namespace penstock {

class Background {
 public:
  // Work returns its outcome. It looks at `stop` now and then, and ends early when that asks it to.
  using Work = std::function<nlohmann::json(const std::stop_token& stop)>;

  Background() = default;
  ~Background() = default;  // asks the work to stop and waits for it
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Does the work in a thread, one at a time. If it throws, its outcome is {kind, error}
  // (attempt()).
  void start(Work work);
  // Does the work at once, in the calling thread, with the same outcome for wait().
  void do_now(const Work& work);
  // Whether there is work that has not ended.
  [[nodiscard]] bool busy() const { return busy_.load(std::memory_order_acquire); }
  // Waits for the end of the work and returns its outcome; null when there was none.
  [[nodiscard]] nlohmann::json wait();
  // Asks the work to end early, and waits for that.
  void stop();

 private:
  std::optional<nlohmann::json> outcome_;
  std::atomic<bool> busy_ = false;
  std::jthread thread_;  // the last member: it uses the others until it has ended
};

}  // namespace penstock

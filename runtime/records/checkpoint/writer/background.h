// runtime/records/checkpoint/writer/background.h -- Background: a piece of work beside the
// training, in a thread that calls no MPI and touches no device.
#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

namespace penstock {

class Background {
 public:
  // A work looks at `stop` now and then, and ends early when it is asked to.
  using Work = std::function<nlohmann::json(const std::stop_token& stop)>;

  Background() = default;
  ~Background() = default;  // asks the work to stop and waits for it
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Does the work in a thread; what it throws becomes its outcome (attempt()). One at a time.
  void start(Work work);
  // The same in the calling thread.
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

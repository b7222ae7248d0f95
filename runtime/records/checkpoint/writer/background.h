// runtime/records/checkpoint/writer/background.h -- Background: runs one piece of work in a thread
// of its own while training goes on, and keeps its result; the writing of a checkpoint's files, for
// example.
//
// The work must not call MPI and must not use the device, which the training thread uses at the
// same time. The methods are called by one thread, the one that trains.
#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

namespace penstock {

class Background {
 public:
  // A piece of work. It returns its result as JSON. It should look at `stop` now and then, and end
  // early if a stop is requested.
  using Work = std::function<nlohmann::json(const std::stop_token& stop)>;

  Background() = default;
  ~Background() = default;  // requests a stop and waits for the end of the work
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Starts the work in a thread and returns; if the system has no more threads, runs it in the
  // calling thread instead. No other work may be running. If the work throws, its result is {kind,
  // error} (attempt(), outcome.h).
  void start(Work work);
  // Runs the work in the calling thread instead; wait() then returns its result.
  void do_now(const Work& work);
  // Whether work is running. Does not block.
  [[nodiscard]] bool busy() const { return busy_.load(std::memory_order_acquire); }
  // Blocks until the work has ended and returns its result; JSON null if there was no work.
  [[nodiscard]] nlohmann::json wait();
  // Requests a stop, and blocks until the work has ended.
  void stop();

 private:
  std::optional<nlohmann::json> outcome_;  // the result of the last work; null: none or taken
  std::atomic<bool> busy_ = false;
  std::jthread thread_;  // the last member: it uses the others until it has ended
};

}  // namespace penstock

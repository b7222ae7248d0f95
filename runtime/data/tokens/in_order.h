// runtime/data/tokens/in_order.h -- InOrder: reads a sequence of items, processes them in several
// threads, and hands the results on in the order of the items, as if one thread had done it all.
//
// Example: the lines of a text file are read in order by the calling thread, encoded as tokens by
// all threads, and appended to a vector in order by the calling thread:
//   InOrder<std::string, std::vector<int32_t>>::run(threads, read_lines, encode, append);
// The calling thread processes items too, when it would else have to wait. At most a few megabytes
// of items for each thread are read ahead.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/error.h"

namespace penstock {

// A number of items that one thread processes in one go; `bytes` is the memory that they take.
// First make() is called once, by any thread, and keeps what it throws; then take(), by the thread
// that gave the work, hands on the results or throws what make() kept.
class Work {
 public:
  explicit Work(size_t bytes) : bytes_(bytes) {}
  virtual ~Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  [[nodiscard]] size_t bytes() const { return bytes_; }
  virtual void make() noexcept = 0;
  virtual void take() = 0;

 private:
  size_t bytes_;
};

// The queue under InOrder: work in the order in which it was given, and the threads that make it.
// Only one thread may call its functions.
class WorkQueue {
 public:
  // `threads` counts the calling thread. The others are started when there is work for them.
  explicit WorkQueue(int threads) : threads_(static_cast<size_t>(threads)) {}
  ~WorkQueue();  // drops what was not taken; waits for what threads have begun
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // give() appends work; where much waits already it first makes or takes some, so that the queue
  // stays short. take_all() returns when all work was made and taken. Both throw what Work::take()
  // throws, for the first work in order that failed.
  void give(std::unique_ptr<Work> work);
  void take_all();

 private:
  enum class State : uint8_t { Waits, BeingMade, Done };
  struct Entry {
    std::unique_ptr<Work> work;
    State state = State::Waits;
  };
  void run();
  void add_thread();
  void take_first();
  [[nodiscard]] Entry* first_waiting();
  void make(Entry& entry, std::unique_lock<std::mutex>& lock);

  size_t threads_;
  std::vector<std::thread> others_;
  std::mutex mutex_;
  std::condition_variable there_;  // wakes the other threads: there is work, or the end has come
  std::condition_variable done_;   // wakes the calling thread: an entry is done
  std::deque<std::unique_ptr<Entry>> entries_;  // not taken, in order
  size_t bytes_ = 0;                            // of those entries
  bool ends_ = false;
};

// run() calls three functions of the caller:
//   read(give)  once, in the calling thread; it calls give(item, bytes) for one item after another,
//               where `bytes` is the memory that the item takes
//   make(item)  for each item, in any of `threads` threads, several at once; it returns the result
//   take(made)  for each result, in the calling thread, in the order of the items
// It returns when all is taken. Where functions throw, run() throws the error of the first item in
// order whose make or take threw, or else the error of read. So an Error of read waits until the
// items before it are made and taken; but one that a stop was asked for (ErrorKind::Stopped), or an
// exception that is no Error, is thrown at once, and items that were not taken are dropped.
template <class Item, class Made>
class InOrder {
 public:
  using Give = std::function<void(Item item, size_t bytes)>;
  using Make = std::function<Made(const Item& item)>;
  using Take = std::function<void(Made made)>;

  static void run(int threads, const std::function<void(const Give&)>& read, const Make& make,
                  const Take& take) {
    InOrder order(threads, make, take);
    bool is_in_read = true;  // not in give(), which throws the errors of items
    try {
      read([&](Item item, size_t bytes) {
        is_in_read = false;
        order.give(std::move(item), bytes);
        is_in_read = true;
      });
    } catch (const Error& error) {
      if (is_in_read && error.kind() != ErrorKind::Stopped) order.end();
      throw;
    }
    order.end();
  }

 private:
  static constexpr size_t kLeastBytes = size_t{1} << 16;  // of items that are made in one go

  class Items final : public Work {
   public:
    Items(std::vector<Item> items, size_t bytes, const Make& make, const Take& take)
        : Work(bytes), items_(std::move(items)), make_(make), take_(take) {}
    void make() noexcept override {
      try {
        for (const Item& item : items_) made_.push_back(make_(item));
      } catch (...) {
        failure_ = std::current_exception();
      }
      items_ = {};
    }
    void take() override {
      for (Made& made : made_) take_(std::move(made));
      if (failure_) std::rethrow_exception(failure_);
    }

   private:
    std::vector<Item> items_;
    std::vector<Made> made_;
    std::exception_ptr failure_;
    const Make& make_;
    const Take& take_;
  };

  InOrder(int threads, const Make& make, const Take& take)
      : make_(make), take_(take), queue_(threads) {}
  void give(Item item, size_t bytes) {
    items_.push_back(std::move(item));
    bytes_ += bytes;
    if (bytes_ >= kLeastBytes) pass_on();
  }
  void pass_on() {
    auto work =
        std::make_unique<Items>(std::exchange(items_, {}), std::exchange(bytes_, 0), make_, take_);
    queue_.give(std::move(work));
  }
  void end() {
    pass_on();
    queue_.take_all();
  }

  const Make& make_;
  const Take& take_;
  std::vector<Item> items_;
  size_t bytes_ = 0;
  WorkQueue queue_;
};

}  // namespace penstock

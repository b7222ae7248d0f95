// runtime/data/tokens/in_order.h -- InOrder: makes something of each item of a file in several
// threads, and takes it in the order of the file, as if one thread had done it all.
//
// The thread that gives items works, too: rather than wait, it makes what no thread has begun, and
// it alone takes what is made. At most a few megabytes a thread are given and not yet taken.
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

// Some items that one thread makes in one go.
class Work {
 public:
  explicit Work(size_t bytes) : bytes_(bytes) {}
  virtual ~Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  [[nodiscard]] size_t bytes() const { return bytes_; }
  virtual void make() noexcept = 0;  // by any thread, once
  virtual void take() = 0;           // afterwards, by the thread that gave; throws what failed

 private:
  size_t bytes_;
};

class WorkQueue {
 public:
  // `threads` counts the thread that gives. Others are started when there is work for them.
  explicit WorkQueue(int threads) : threads_(static_cast<size_t>(threads)) {}
  ~WorkQueue();  // drops what was not taken; waits for what threads have begun
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // give() adds work, and may make or take some; take_all() returns when all is taken. Both throw
  // what Work::take() throws for the first work that failed.
  void give(std::unique_ptr<Work> work);
  void take_all();

 private:
  enum class State : uint8_t { Waits, IsMade, Done };  // IsMade: a thread is making it
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
  std::condition_variable there_;  // tells threads of work, or the end
  std::condition_variable done_;   // tells the thread that gives of entries that are done
  std::deque<std::unique_ptr<Entry>> entries_;  // not taken, in order
  size_t bytes_ = 0;                            // of those entries
  bool ends_ = false;
};

// run() calls read(give), which calls give(item, bytes) for one item after the other, with the
// bytes that the item takes in memory, by which the number of waiting items is limited; make(item)
// for each, in any of `threads` threads, several at once; and take(made) in the order of the items.
// It throws the failure that comes first in that order, of make or take, or else that of read.
template <class Item, class Made>
class InOrder {
 public:
  using Give = std::function<void(Item item, size_t bytes)>;
  using Make = std::function<Made(const Item& item)>;
  using Take = std::function<void(Made made)>;

  static void run(int threads, const std::function<void(const Give&)>& read, const Make& make,
                  const Take& take) {
    InOrder order(threads, make, take);
    bool reads = true;
    try {
      read([&](Item item, size_t bytes) {
        reads = false;
        order.give(std::move(item), bytes);
        reads = true;
      });
    } catch (const Error& error) {
      if (reads && error.kind() != ErrorKind::Stopped) order.end();
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

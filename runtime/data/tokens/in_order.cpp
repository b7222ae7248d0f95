#include "runtime/data/tokens/in_order.h"

#include <algorithm>
#include <system_error>

namespace penstock {
namespace {

// These limit the work that is given ahead for each thread: the number of entries, and the bytes in
// them.
constexpr size_t kWorkAhead = 2;
constexpr size_t kBytesAhead = size_t{2} << 20;

}  // namespace

WorkQueue::~WorkQueue() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  there_.notify_all();
  for (std::thread& thread : others_) thread.join();
}

// Adds a thread unless there are enough. If the system gives no more threads, the present threads
// do all the work.
void WorkQueue::add_thread() {
  if (others_.size() + 1 >= threads_) return;
  try {
    others_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    threads_ = others_.size() + 1;
  }
}

WorkQueue::Entry* WorkQueue::first_waiting() {
  const auto waits = [](const auto& entry) { return entry->state == State::Waits; };
  const auto found = std::ranges::find_if(entries_, waits);
  return found == entries_.end() ? nullptr : found->get();
}

void WorkQueue::make(Entry& entry, std::unique_lock<std::mutex>& lock) {
  entry.state = State::BeingMade;
  lock.unlock();
  entry.work->make();
  lock.lock();
  entry.state = State::Done;
}

void WorkQueue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    Entry* entry = nullptr;
    there_.wait(lock, [&] { return ends_ || (entry = first_waiting()) != nullptr; });
    if (ends_) return;
    make(*entry, lock);
    done_.notify_one();
  }
}

void WorkQueue::give(std::unique_ptr<Work> work) {
  size_t entries = 0;
  {
    const std::lock_guard lock(mutex_);
    bytes_ += work->bytes();
    entries_.push_back(std::make_unique<Entry>(Entry{std::move(work)}));
    entries = entries_.size();
  }
  there_.notify_one();
  if (threads_ > 1 && entries > 1) add_thread();
  while (threads_ == 1 || entries_.size() > kWorkAhead * threads_ ||
         bytes_ > kBytesAhead * threads_) {
    if (entries_.empty()) return;
    take_first();
  }
}

void WorkQueue::take_all() {
  while (!entries_.empty()) take_first();
}

// Removes the first entry and takes its result. Until the first entry is done, this thread works on
// waiting entries itself. Only the thread that calls this adds and removes entries; other threads
// change the states of entries.
void WorkQueue::take_first() {
  std::unique_lock lock(mutex_);
  while (entries_.front()->state != State::Done) {
    if (Entry* const entry = first_waiting()) {
      make(*entry, lock);
    } else {
      done_.wait(lock, [&] { return entries_.front()->state == State::Done; });
    }
  }
  const std::unique_ptr<Entry> first = std::move(entries_.front());
  entries_.pop_front();
  bytes_ -= first->work->bytes();
  lock.unlock();
  first->work->take();
}

}  // namespace penstock

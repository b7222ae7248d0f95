// tests/unit/records/checkpoint/thread_world.h -- ThreadCollective: ranks that are threads, without
// MPI.
#pragma once

#include <gtest/gtest.h>

#include <barrier>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "kernels/error.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// What the ranks of one world share.
struct Board {
  explicit Board(int ranks) : barrier(ranks), texts(static_cast<size_t>(ranks)) {}
  std::barrier<> barrier;
  std::vector<std::string> texts;
};

class ThreadCollective final : public Collective {
 public:
  ThreadCollective(Board& board, int rank) : board_(board), rank_(rank) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(board_.texts.size()); }
  void barrier() override { board_.barrier.arrive_and_wait(); }
  void sum(std::span<double>) override { none(); }
  void gather(std::span<const double>, std::span<const int>, std::span<double>) override { none(); }
  void gather_to_all(std::span<const double>, std::span<double>) override { none(); }
  [[nodiscard]] std::vector<int64_t> gather_to_all(int64_t mine) override {
    std::vector<int64_t> all;
    for (const std::string& text : exchange(std::to_string(mine))) all.push_back(std::stoll(text));
    return all;
  }
  [[nodiscard]] std::vector<std::string> gather_text(const std::string& mine) override {
    std::vector<std::string> all = exchange(mine);
    return rank_ == 0 ? all : std::vector<std::string>{};
  }
  [[nodiscard]] std::string broadcast(const std::string& text, int root) override {
    return exchange(text)[static_cast<size_t>(root)];
  }
  void broadcast(std::span<double>, int) override { none(); }
  void give(std::span<const std::byte>, int) override { none(); }
  void take(std::span<std::byte>, int) override { none(); }

 private:
  [[noreturn]] static void none() { fail_internal("ThreadCollective has no such operation"); }
  std::vector<std::string> exchange(const std::string& mine) {
    board_.texts[static_cast<size_t>(rank_)] = mine;
    board_.barrier.arrive_and_wait();
    std::vector<std::string> all = board_.texts;
    board_.barrier.arrive_and_wait();
    return all;
  }

  Board& board_;
  int rank_;
};

// Runs `body` on every rank at once; returns, by rank, the exit code and message of the Error that
// it threw, "" where it threw none.
inline std::vector<std::string> on_ranks(int ranks, const std::function<void(Collective&)>& body) {
  Board board(ranks);
  std::vector<std::string> errors(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadCollective world(board, rank);
      try {
        body(world);
      } catch (const Error& error) {
        errors[static_cast<size_t>(rank)] = std::to_string(error.exit_code()) + " " + error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace penstock

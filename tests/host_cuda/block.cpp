#include "tests/host_cuda/block.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/host_cuda/chance.h"
#include "tests/host_cuda/fiber.h"
#include "tests/host_cuda/stop.h"

// What device code reads by these names; those of the thread that runs.
uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

// All shared variables of all kernels: shared_memory.ld.
extern "C" std::byte penstock_shared_begin[], penstock_shared_end[];

namespace penstock::host_cuda {
namespace {

constexpr uint32_t kLanes = 32;
constexpr int kSharedPoison = 0xff;  // as floats: NaN

// A thread that waits: what to set when it goes on, and what for.
struct Waiter {
  Fiber* fiber = nullptr;
  uint32_t thread = 0;
};

struct Warp {
  uint32_t alive = 0;  // lanes that have not ended
  uint32_t mask = 0;   // of the meeting that is being waited for
  const char* what = nullptr;
  Site site{};
  int next = 0;  // the meeting that gathers; the one before may still be read
  std::array<Meeting, 2> meetings;
  std::vector<Waiter> waiting;
};

// The block that runs. One at a time: the machine's lock is held.
struct Block {
  const Grid* grid = nullptr;
  uint32_t threads = 0;
  uint32_t started = 0, alive = 0;
  uint32_t first = 0, stride = 1;  // thread number i to start is (first + i * stride) % threads
  uint32_t running = 0;            // linear index of the thread that runs
  Fiber* fiber = nullptr;          // that it runs on
  Fiber main;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Fiber*> idle;
  std::vector<Waiter> ready;  // taken from `ready_first` on
  size_t ready_first = 0;
  bool start_before_going_on = false;
  std::vector<Waiter> at_barrier;
  Site barrier{};
  int counted = 0, count_before = 0;
  std::vector<Warp> warps;
};
Block block;
alignas(128) std::array<std::byte, kMostShared> shared_memory;

std::string text(Site site) {
  return std::string(site.file) + ":" + std::to_string(site.line);
}

std::string text(uint3 at) {
  return "(" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " + std::to_string(at.z) +
         ")";
}

uint3 index_of(uint32_t thread) {
  const dim3& size = block.grid->threads;
  return {thread % size.x, thread / size.x % size.y, thread / size.x / size.y};
}

Warp& warp_of(uint32_t thread) {
  return block.warps[thread / kLanes];
}

void become(uint32_t thread) {
  block.running = thread;
  threadIdx = index_of(thread);
}

// The waiters may go on, in their order or backwards.
void wake_all(std::vector<Waiter>& waiters) {
  if (chance(2) == 0) {
    block.ready.insert(block.ready.end(), waiters.begin(), waiters.end());
  } else {
    block.ready.insert(block.ready.end(), waiters.rbegin(), waiters.rend());
  }
  waiters.clear();
}

void open_barrier() {
  block.count_before = block.counted;
  block.counted = 0;
  wake_all(block.at_barrier);
}

void end_meeting(Warp& warp) {
  warp.next ^= 1;
  warp.meetings[warp.next].present = 0;
  wake_all(warp.waiting);
}

void end_thread() {
  const uint32_t thread = block.running;
  --block.alive;
  if (block.alive > 0 && block.at_barrier.size() == block.alive) open_barrier();
  Warp& warp = warp_of(thread);
  warp.alive &= ~(1U << thread % kLanes);
  const uint32_t present = warp.meetings[warp.next].present;
  if (present != 0 && present == (warp.mask & warp.alive)) end_meeting(warp);
}

void fiber_body();

Fiber& next_fiber() {
  const bool some_ready = block.ready_first < block.ready.size();
  const bool some_unstarted = block.started < block.threads;
  if (some_ready && !(some_unstarted && block.start_before_going_on)) {
    return *block.ready[block.ready_first++].fiber;
  }
  if (!some_unstarted) return block.main;  // the block has ended, or hangs
  if (block.idle.empty()) {
    block.fibers.push_back(std::make_unique<Fiber>(&fiber_body));
    return *block.fibers.back();
  }
  Fiber* fiber = block.idle.back();
  block.idle.pop_back();
  return *fiber;
}

void hand_over(Fiber& to) {
  if (block.ready_first == block.ready.size()) {
    block.ready.clear();
    block.ready_first = 0;
  }
  Fiber* const from = block.fiber;
  if (from == &to) return;
  block.fiber = &to;
  from->hand_over(to);
}

// The running thread goes on when it has been released.
void wait_in(std::vector<Waiter>& waiters) {
  const uint32_t thread = block.running;
  waiters.push_back({block.fiber, thread});
  hand_over(next_fiber());
  become(thread);
}

// Threads that never wait run one after another on one fiber.
void fiber_body() {
  for (;;) {
    while (block.started < block.threads) {
      become((block.first + block.started * block.stride) % block.threads);
      ++block.started;
      block.grid->body(block.grid->argument);
      end_thread();
    }
    block.idle.push_back(block.fiber);
    hand_over(next_fiber());
  }
}

[[noreturn]] void stop_in_block(const std::string& what) {
  stop("block " + text(blockIdx) + ": " + what);
}

[[noreturn]] void report_hang() {
  std::string what = "its threads wait for each other for ever:";
  if (!block.at_barrier.empty()) {
    what += " " + std::to_string(block.at_barrier.size()) + " of them in __syncthreads at " +
            text(block.barrier);
  }
  for (const Warp& warp : block.warps) {
    if (warp.waiting.empty()) continue;
    what += "; lanes of the warp of thread " + text(index_of(warp.waiting[0].thread)) + " in " +
            warp.what + " at " + text(warp.site);
  }
  stop_in_block(what);
}

uint32_t greatest_common_divisor(uint32_t a, uint32_t b) {
  return b == 0 ? a : greatest_common_divisor(b, a % b);
}

// First to last, last to first, or far from their neighbours.
void choose_order() {
  const uint32_t kind = chance(3);
  block.first = kind == 0 ? 0 : kind == 1 ? block.threads - 1 : chance(block.threads);
  block.stride = kind == 0 ? 1 : kind == 1 ? block.threads - 1 : 1 + chance(block.threads);
  while (greatest_common_divisor(block.stride, block.threads) != 1) ++block.stride;
  block.start_before_going_on = chance(2) == 0;
}

// The shared variables that one kernel uses, among all there are: known after its first block.
class UsedVariables {
 public:
  void poison() { std::memset(first_, kSharedPoison, static_cast<size_t>(last_ - first_)); }
  void look() {
    while (first_ < last_ && *first_ == std::byte{kSharedPoison}) ++first_;
    while (first_ < last_ && last_[-1] == std::byte{kSharedPoison}) --last_;
  }

 private:
  std::byte* first_ = penstock_shared_begin;
  std::byte* last_ = penstock_shared_end;
};

void run_block(const Grid& grid, UsedVariables& used) {
  std::memset(shared_memory.data(), kSharedPoison, grid.shared_bytes);
  used.poison();
  block.started = 0;
  block.alive = block.threads;
  choose_order();
  for (uint32_t w = 0; w < block.warps.size(); ++w) {
    const uint32_t lanes = std::min(kLanes, block.threads - w * kLanes);
    block.warps[w].alive = lanes == kLanes ? ~0U : (1U << lanes) - 1;
    block.warps[w].meetings[block.warps[w].next].present = 0;
  }
  block.fiber = &block.main;
  hand_over(next_fiber());
  if (block.alive > 0) report_hang();
}

}  // namespace

void run_grid(const Grid& grid) {
  block.grid = &grid;
  block.threads = grid.threads.x * grid.threads.y * grid.threads.z;
  block.warps.resize((block.threads + kLanes - 1) / kLanes);
  blockDim = grid.threads;
  gridDim = grid.blocks;
  const uint64_t blocks = uint64_t{grid.blocks.x} * grid.blocks.y * grid.blocks.z;
  const bool backwards = chance(2) == 0;
  UsedVariables used;
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint64_t b = backwards ? blocks - 1 - i : i;
    blockIdx = {static_cast<uint32_t>(b % grid.blocks.x),
                static_cast<uint32_t>(b / grid.blocks.x % grid.blocks.y),
                static_cast<uint32_t>(b / grid.blocks.x / grid.blocks.y)};
    run_block(grid, used);
    if (i == 0) used.look();
  }
}

std::byte* dynamic_shared_memory() {
  return shared_memory.data();
}

void block_barrier(Site site) {
  (void)block_count(false, site);
}

int block_count(bool value, Site site) {
  if (block.at_barrier.empty()) {
    block.barrier = site;
  } else if (site.line != block.barrier.line || std::strcmp(site.file, block.barrier.file) != 0) {
    stop_in_block("threads wait at different barriers, at " + text(block.barrier) + " and at " +
                  text(site));
  }
  if (value) ++block.counted;
  if (block.at_barrier.size() + 1 < block.alive) {
    wait_in(block.at_barrier);
  } else {
    open_barrier();
  }
  return block.count_before;
}

const Meeting& meet(uint32_t mask, uint64_t value, const char* what, Site site) {
  const uint32_t self = block.running % kLanes;
  Warp& warp = warp_of(block.running);
  const int which = warp.next;
  Meeting& meeting = warp.meetings[which];
  if ((mask >> self & 1) == 0) {
    stop_in_block("a lane calls " + std::string(what) + " at " + text(site) +
                  " and is not in its mask");
  }
  if (meeting.present == 0) {
    warp.mask = mask;
    warp.what = what;
    warp.site = site;
  } else if (mask != warp.mask || site.line != warp.site.line ||
             std::strcmp(what, warp.what) != 0) {
    stop_in_block("the lanes of a warp meet in different calls: " + std::string(warp.what) +
                  " at " + text(warp.site) + " and " + what + " at " + text(site));
  }
  meeting.value[self] = value;
  meeting.present |= 1U << self;
  if (meeting.present != (mask & warp.alive)) {
    wait_in(warp.waiting);
  } else {
    end_meeting(warp);
  }
  return meeting;
}

int lane() {
  return static_cast<int>(block.running % kLanes);
}

}  // namespace penstock::host_cuda

// bench/gpu/queue_bench.cpp -- what a command costs the host, four ways: given to the stream by
// itself; packed, compared and replayed as a graph (kernels/cuda/queue/queue.h); the same with new
// arguments; and captured anew each time into a graph that is updated (cudaGraphExecUpdate), the
// simpler design that the queue has to beat to deserve its lines.
//
//   queue_bench [COMMANDS]
//
// Exit codes: 0 measured, 1 failed, 2 bad usage, 77 no GPU.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "kernels/cuda/queue/queue.h"
#include "kernels/device.h"

namespace penstock::gpu_bench {
namespace {

constexpr int kRounds = 21;
constexpr size_t kBytes = 1024;

void clear(cudaStream_t stream, void* at, int value) {
  PENSTOCK_CUDA(cudaMemsetAsync(at, value, kBytes, stream));
}

struct Memory {
  void* at = nullptr;
  Memory() { PENSTOCK_CUDA(cudaMalloc(&at, kBytes)); }
  ~Memory() { (void)cudaFree(at); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
};

// Prints the median of the host's microseconds a command, without those that the device takes.
void measure(const std::string& name, int commands, Queue& queue,
             const std::function<void()>& run) {
  std::vector<double> microseconds;
  for (int round = 0; round < kRounds; ++round) {
    queue.synchronize();
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double, std::micro> spent =
        std::chrono::steady_clock::now() - start;
    microseconds.push_back(spent.count() / commands);
  }
  std::nth_element(microseconds.begin(), microseconds.begin() + kRounds / 2, microseconds.end());
  fmt::print("{:44} {:8.3f} us a command\n", name, microseconds[kRounds / 2]);
}

// The simpler design: every section is captured as it comes.
class Recaptured {
 public:
  explicit Recaptured(Queue& queue) : queue_(queue) {}
  ~Recaptured() {
    if (graph_ != nullptr) (void)cudaGraphExecDestroy(graph_);
  }
  Recaptured(const Recaptured&) = delete;
  Recaptured& operator=(const Recaptured&) = delete;

  void run(const std::function<void(cudaStream_t)>& section) {
    cudaGraph_t captured = nullptr;
    PENSTOCK_CUDA(cudaStreamBeginCapture(queue_.stream(), cudaStreamCaptureModeThreadLocal));
    section(queue_.stream());
    PENSTOCK_CUDA(cudaStreamEndCapture(queue_.stream(), &captured));
    cudaGraphExecUpdateResultInfo result{};
    if (graph_ == nullptr) {
      PENSTOCK_CUDA(cudaGraphInstantiate(&graph_, captured, 0));
    } else {
      PENSTOCK_CUDA(cudaGraphExecUpdate(graph_, captured, &result));
    }
    PENSTOCK_CUDA(cudaGraphDestroy(captured));
    PENSTOCK_CUDA(cudaGraphLaunch(graph_, queue_.stream()));
  }

 private:
  Queue& queue_;
  cudaGraphExec_t graph_ = nullptr;
};

void measure_all(int commands) {
  Queue queue(true);
  const Memory memory;
  int value = 0;
  const auto submit = [&](int step) {
    for (int c = 0; c < commands; ++c) queue.call<&clear>(memory.at, step);
  };
  fmt::print("{} commands a section, each a memset of {} bytes\n", commands, kBytes);
  measure("given to the stream one by one", commands, queue, [&] { submit(0); });
  measure("replayed", commands, queue, [&] {
    queue.begin_section(1);
    submit(0);
    queue.end_section();
  });
  measure("with new arguments (issued one by one)", commands, queue, [&] {
    queue.begin_section(2);
    submit(++value % 256);
    queue.end_section();
  });
  Recaptured recaptured(queue);
  measure("captured anew and updated", commands, queue, [&] {
    ++value;
    recaptured.run([&](cudaStream_t stream) {
      for (int c = 0; c < commands; ++c) clear(stream, memory.at, value % 256);
    });
  });
  queue.synchronize();
}

}  // namespace
}  // namespace penstock::gpu_bench

int main(int argc, char** argv) {
  try {
    const int commands = argc > 1 ? std::stoi(argv[1]) : 500;
    if (argc > 2 || commands < 1) {
      (void)std::fputs("usage: queue_bench [COMMANDS]\n", stderr);
      return 2;
    }
    if (penstock::cuda_devices().empty()) {
      fmt::print("nothing measured: {}\n", penstock::why_no_cuda());
      return 77;
    }
    penstock::gpu_bench::measure_all(commands);
    return 0;
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "queue_bench: %s\n", error.what());
    return 1;
  }
}

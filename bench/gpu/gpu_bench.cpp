// bench/gpu/gpu_bench.cpp -- one side of the comparison that bench/gpu/run.py makes; the other is
// torch_peer.py, which speaks the same language. Both stay alive and take turns, so that neither
// pays for its start and both see the machine as it is.
//
//   gpu_bench [--device cuda|cpu] [--graphs true|false]
//
// A line of standard input is a request, a line of standard output the answer, in JSON:
//   {"what": "about"}              {"device": ..., "bf16_flops": peak FLOP/s, "memory_bytes": ...}
//   {"what": "blocks", ..., "iterations": 20}
//                                  {"ms": [of each iteration], "flops": of one, "parameters": ...,
//                                   "peak_bytes": ...}
// What a request describes is kept for the next one that describes the same. A request that fails
// is answered {"error": ...}.
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "bench/gpu/workload.h"

namespace penstock::gpu_bench {
namespace {

using Json = nlohmann::json;

// A graph is captured in the second iteration at the earliest.
constexpr int kWarmUp = 4;

class Server {
 public:
  explicit Server(Device& device) : device_(device) {}

  [[nodiscard]] Json answer(Json request) {
    if (request.at("what") == "about") return about();
    const int iterations = request.value("iterations", 20);
    request.erase("iterations");
    if (!workload_ || request != known_) set_up(request);
    const std::unique_ptr<DeviceClock> clock =
        device_.make_clock(2 * static_cast<size_t>(iterations));
    Json ms = Json::array();
    for (int i = 0; i < iterations; ++i) workload_->iterate(*clock, 2 * static_cast<size_t>(i));
    device_.synchronize();
    for (int i = 0; i < iterations; ++i) {
      const size_t first = 2 * static_cast<size_t>(i);
      ms.push_back(1e3 * (clock->seconds(first + 1) - clock->seconds(first)));
    }
    return {{"ms", ms},
            {"flops", workload_->flops()},
            {"parameters", workload_->parameters()},
            {"peak_bytes", device_.memory().use().total_peak}};
  }

 private:
  [[nodiscard]] Json about() const {
    const DeviceModel model = device_.model();
    return {{"device", device_.description()},
            {"bf16_flops", model.bf16.peak},
            {"memory_bytes", model.memory_bytes}};
  }
  void set_up(const Json& request) {
    workload_.reset();
    device_.synchronize();
    device_.memory().trim();
    device_.memory().reset_peaks();
    known_ = Json();
    workload_ = make_workload(request, device_);
    known_ = request;
    const std::unique_ptr<DeviceClock> clock = device_.make_clock(2);
    for (int i = 0; i < kWarmUp; ++i) workload_->iterate(*clock, 0);
    device_.synchronize();
  }

  Device& device_;
  std::unique_ptr<Workload> workload_;
  Json known_;
};

std::string option(int argc, char** argv, const std::string& name, const std::string& otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == "--" + name) return argv[i + 1];
  }
  return otherwise;
}

void serve(int argc, char** argv) {
  const std::unique_ptr<Device> device =
      option(argc, argv, "device", "cuda") == "cpu"
          ? make_cpu_device(1)
          : make_cuda_device(0, option(argc, argv, "graphs", "true") == "true");
  Server server(*device);
  for (std::string line; std::getline(std::cin, line);) {
    Json reply;
    try {
      reply = server.answer(Json::parse(line));
    } catch (const std::exception& error) {
      reply = {{"error", error.what()}};
    }
    std::cout << reply.dump() << std::endl;
  }
}

}  // namespace
}  // namespace penstock::gpu_bench

int main(int argc, char** argv) {
  try {
    penstock::gpu_bench::serve(argc, argv);
    return 0;
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "gpu_bench: %s\n", error.what());
    return 3;
  }
}

// bench/message_bench.cpp -- a message over a boundary beside the same bytes by bare MPI.
//
//   mpirun -n 2 message_bench [KIBIBYTES ...]
//
// Both are ping-pongs between the same two ranks, in turn within one run: over two links of the
// engine's kind, and by MPI_Isend, MPI_Irecv and MPI_Wait on two buffers. Prints for each size
// {"bytes": ..., "link_us": [...], "mpi_us": [...]}, one way, one figure for each of 15 pairs.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include "bench/ranks.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kPairs = 15;

double microseconds_one_way(Clock::time_point start, int rounds) {
  const std::chrono::duration<double, std::micro> took = Clock::now() - start;
  return took.count() / (2.0 * rounds);
}

// Messages over the links there and back. The receive of the next message is posted before it is
// due, as the executor does.
class LinkPingPong {
 public:
  LinkPingPong(Network& network, Device& device, int64_t elements, int rank)
      : device_(device), specs_{{{elements}, DType::F32}}, rank_(rank) {
    const std::array<DirectedEdge, 2> edges = {
        DirectedEdge{.from_stage = 0, .to_stage = 1, .from_position = 0, .to_position = 1},
        DirectedEdge{.from_stage = 1,
                     .to_stage = 0,
                     .from_position = 1,
                     .to_position = 0,
                     .direction = Direction::Gradient}};
    ends_ = network.connect(edges, device);
    out_ = ends_.send[static_cast<size_t>(rank)].get();
    in_ = ends_.receive[static_cast<size_t>(1 - rank)].get();
  }
  double run(int rounds) {
    Tensor message = device_.zeros(specs_[0].shape, DType::F32, Purpose::Activations);
    in_->expect(specs_);
    MPI_Barrier(MPI_COMM_WORLD);
    const auto start = Clock::now();
    for (int i = 0; i < rounds; ++i) {
      if (rank_ == 0) out_->send({&message, 1});
      Tensor got;
      in_->receive({&got, 1});
      if (i + 1 < rounds) in_->expect(specs_);
      if (rank_ == 1) out_->send({&got, 1});
      message = std::move(got);
    }
    const double took = microseconds_one_way(start, rounds);
    out_->drain();
    return took;
  }

 private:
  Device& device_;
  std::vector<TensorSpec> specs_;
  int rank_;
  Network::Ends ends_;
  SendLink* out_ = nullptr;
  ReceiveLink* in_ = nullptr;
};

double bare_ping_pong(std::array<std::vector<float>, 2>& buffers, int rank, int rounds) {
  const auto count = static_cast<int>(buffers[0].size());
  const int peer = 1 - rank;
  const auto send = [&] {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(buffers[0].data(), count, MPI_FLOAT, peer, 7, MPI_COMM_WORLD, &request);
    return request;
  };
  MPI_Barrier(MPI_COMM_WORLD);
  const auto start = Clock::now();
  MPI_Request sending = MPI_REQUEST_NULL;
  for (int i = 0; i < rounds; ++i) {
    MPI_Request receiving = MPI_REQUEST_NULL;
    MPI_Irecv(buffers[1].data(), count, MPI_FLOAT, peer, 7, MPI_COMM_WORLD, &receiving);
    if (rank == 0) sending = send();
    MPI_Wait(&receiving, MPI_STATUS_IGNORE);
    MPI_Wait(&sending, MPI_STATUS_IGNORE);
    std::swap(buffers[0], buffers[1]);
    if (rank == 1) sending = send();
  }
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  return microseconds_one_way(start, rounds);
}

void compare(Network& network, Device& device, int rank, int64_t bytes) {
  const int64_t elements = bytes / 4;
  const int rounds = static_cast<int>(std::clamp<int64_t>((int64_t{64} << 20) / bytes, 4, 400));
  LinkPingPong link(network, device, elements, rank);
  std::array<std::vector<float>, 2> buffers;
  for (auto& buffer : buffers) buffer.assign(static_cast<size_t>(elements), 1.0F);
  std::vector<double> ours;
  std::vector<double> bare;
  for (int pair = 0; pair <= kPairs; ++pair) {
    const double link_us = link.run(rounds);
    const double mpi_us = bare_ping_pong(buffers, rank, rounds);
    if (pair == 0) continue;  // the first warms up
    ours.push_back(link_us);
    bare.push_back(mpi_us);
  }
  if (rank == 0) {
    fmt::print(R"({{"bytes": {}, "link_us": [{:.3f}], "mpi_us": [{:.3f}]}})"
               "\n",
               bytes, fmt::join(ours, ", "), fmt::join(bare, ", "));
  }
}

void measure(const Session& session, const std::vector<std::string>& arguments) {
  if (session.ranks() != 2) fail_input("message_bench needs two ranks: mpirun -n 2");
  const std::unique_ptr<Network> network = make_mpi_network(session, {.positions = 2});
  const std::unique_ptr<Device> device = make_cpu_device(1);
  std::vector<int64_t> kibibytes;
  for (const std::string& size : arguments) kibibytes.push_back(std::stoll(size));
  if (kibibytes.empty()) kibibytes = {64, 256, 1024, 4096, 16384};
  for (const int64_t size : kibibytes) compare(*network, *device, session.rank(), size << 10);
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  return penstock::run_ranks("message_bench", argc, argv, penstock::measure);
}

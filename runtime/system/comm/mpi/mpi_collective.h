// runtime/system/comm/mpi/mpi_collective.h -- MpiCollective: the Collective over one MPI
// communicator.
//
// The functions do what Collective (network.h) says. Sums are gathered and added here in rank
// order, since MPI does not promise the same bits on every rank. All calls wait by `pollers`: links
// and sums go on meanwhile, and no wait is endless. They throw Error(Peer) when MPI fails or
// nothing comes within the limit, and Error(Internal) when `all` has not the size of what is
// gathered.
#pragma once

#include <string>
#include <vector>

#include "runtime/system/comm/handle.h"
#include "runtime/system/comm/network.h"
#include "runtime/system/comm/pollers.h"

namespace penstock {

class MpiCollective final : public Collective {
 public:
  // Takes over `comm`. `name` says in errors whose values these are: "the ranks of replica 1".
  // `pollers` must outlive this.
  MpiCollective(CommHandle comm, std::string name, Pollers& pollers);

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  void barrier() override;
  void sum(std::span<double> values) override;
  void gather(std::span<const double> mine, std::span<const int> counts,
              std::span<double> all) override;
  void gather_to_all(std::span<const double> mine, std::span<double> all) override;
  [[nodiscard]] std::vector<int64_t> gather_to_all(int64_t mine) override;
  [[nodiscard]] std::vector<std::string> gather_text(const std::string& mine) override;
  [[nodiscard]] std::string broadcast(const std::string& text, int root) override;
  void broadcast(std::span<double> values, int root) override;
  void give(std::span<const std::byte> bytes, int to) override;
  void take(std::span<std::byte> bytes, int from) override;

 private:
  // Waits for a request that MPI has just made.
  void wait_for(RequestHandle& request);
  // Gathers everyone's number into counts_.
  void gather_counts(const int& mine);
  void broadcast_bytes(void* data, size_t size_bytes, int root);
  // Writes the running sums of counts_ to offsets_; returns the total.
  size_t place_counts();
  void check_room(size_t values, size_t room) const;

  CommHandle comm_;
  std::string name_;
  Pollers& pollers_;
  int rank_ = 0, size_ = 1;
  std::vector<int> counts_, offsets_;  // one per member
  std::vector<double> scratch_;
};

}  // namespace penstock

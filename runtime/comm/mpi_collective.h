// runtime/comm/mpi_collective.h -- Collective over one MPI communicator.
//
// Sums and maxima are gathered and folded here in rank order: MPI does not promise the same bits on
// every rank, nor that a NaN survives MPI_MAX.
#pragma once

#include <string>
#include <vector>

#include "runtime/comm/handle.h"
#include "runtime/comm/network.h"

namespace penstock {

class MpiCollective final : public Collective {
 public:
  // `name` says in errors whose values these are: "the ranks of replica 1".
  MpiCollective(CommHandle comm, std::string name);

  [[nodiscard]] MPI_Comm comm() const { return comm_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  void barrier() override;
  void sum(std::span<double> values) override;
  void maximum(std::span<double> values) override;
  void gather_to_all(std::span<const double> mine, std::span<double> all) override;
  [[nodiscard]] std::vector<int64_t> gather_to_all(int64_t mine) override;
  [[nodiscard]] std::vector<std::string> gather_text(const std::string& mine) override;
  [[nodiscard]] std::string broadcast(const std::string& text, int root) override;

 private:
  // values[i] = fold(... fold(first[i], second[i]) ...) over the members in rank order.
  template <class Fold>
  void fold_in_rank_order(std::span<double> values, Fold fold);
  // The members' counts in counts_, their running sums in offsets_; returns the total.
  size_t exchange_counts(int mine);

  CommHandle comm_;
  std::string name_;
  int rank_ = 0, size_ = 1;
  std::vector<int> counts_, offsets_;  // one per member
  std::vector<double> scratch_;
};

}  // namespace penstock

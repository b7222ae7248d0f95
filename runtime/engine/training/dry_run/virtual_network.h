// runtime/engine/training/dry_run/virtual_network.h -- VirtualNetwork: the network of a dry run.
// All that passes between ranks is real and goes over the real network; each rank's virtual clock
// moves on as on the modelled cluster, not as on this machine.
//
// Links and sums take the time that the simulator gives them (virtual_links.h, virtual_sums.h), by
// what the cluster says of links within a node and between nodes; no message waits for a network
// card that ranks share. Small values between the ranks of a group take no time, but no rank has
// them before the last one has come.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/counting/virtual_clock.h"
#include "runtime/engine/training/dry_run/virtual_collective.h"
#include "runtime/engine/training/dry_run/virtual_mail.h"
#include "runtime/planning/plan/arrangement.h"
#include "runtime/system/comm/network.h"

namespace penstock {

class VirtualNetwork final : public Network {
 public:
  // The world's rank 0 says which cluster is modelled; the others' `cluster` is not read.
  // Collective over the world. `real` and `clock`, this rank's, must outlive this.
  VirtualNetwork(Network& real, const Grid& grid, const Cluster& cluster, VirtualClock& clock);

  [[nodiscard]] Ends connect(std::span<const DirectedEdge> edges, Device& device) override;
  [[nodiscard]] std::unique_ptr<ReduceGroup> reduce_group(Device& device) override;
  Collective& world() override { return world_; }
  Collective& pipeline() override { return pipeline_; }
  Collective& replicas() override { return replicas_; }
  [[nodiscard]] std::unique_ptr<LateGather> late_gather(size_t mine) override;

  // All else takes no virtual time.
  [[nodiscard]] std::unique_ptr<Courier> courier() override { return real_.courier(); }
  void set_side_work(SideWork* work) override { real_.set_side_work(work); }
  void do_side_work() override { real_.do_side_work(); }
  void wait_until(const std::function<bool()>& done, const std::string& what) override {
    real_.wait_until(done, what);
  }
  [[nodiscard]] int64_t requests_made() const override { return real_.requests_made(); }
  [[nodiscard]] std::string description() const override { return real_.description(); }
  [[nodiscard]] ActivityLog* activity_log() override { return real_.activity_log(); }

 private:
  [[nodiscard]] int node_of(int world_rank) const;
  // The link between two ranks of this replica, by their positions.
  [[nodiscard]] LinkTimes link(int position, int other) const;
  // The link of the ranks that hold the same stages as this one: between nodes if any two are on
  // different ones, and as slow as the slowest where some are unlike.
  [[nodiscard]] LinkTimes replica_link() const;

  Network& real_;
  Grid grid_;
  Cluster cluster_;
  VirtualClock& clock_;
  VirtualCollective world_, pipeline_, replicas_;
  VirtualMail mail_;
  int64_t edges_made_ = 0;  // the same on all ranks of the pipeline
};

}  // namespace penstock

// tests/unit/engine/pipeline/memory_links.h -- MemoryNetwork: links between the threads of one
// process, each of which plays a rank of one pipeline. An executor needs no more of a network.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/system/comm/network.h"

namespace penstock {

// The messages under way along one directed edge. cut() ends a wait for a message that never comes.
class Wire {
 public:
  void put(std::vector<std::vector<std::byte>> message) {
    const std::lock_guard lock(mutex_);
    for (const auto& tensor : message) bytes_ += tensor.size();
    messages_.push_back(std::move(message));
    changed_.notify_all();
  }
  std::vector<std::vector<std::byte>> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return cut_ || !messages_.empty(); });
    if (messages_.empty()) throw Error(ErrorKind::Peer, "the wire is cut");
    auto message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }
  [[nodiscard]] size_t bytes() const { return bytes_; }  // sent so far
  void cut() {
    const std::lock_guard lock(mutex_);
    cut_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::vector<std::vector<std::byte>>> messages_;
  bool cut_ = false;
  size_t bytes_ = 0;
};

// Wires by (from stage, to stage, direction), shared by all ranks.
class Wires {
 public:
  Wire& of(const DirectedEdge& edge) {
    const std::lock_guard lock(mutex_);
    return wires_[{edge.from_stage, edge.to_stage, static_cast<int>(edge.direction)}];
  }
  void cut() {
    const std::lock_guard lock(mutex_);
    for (auto& [key, wire] : wires_) wire.cut();
  }

 private:
  std::mutex mutex_;
  std::map<std::tuple<int, int, int>, Wire> wires_;
};

class MemorySend final : public SendLink {
 public:
  explicit MemorySend(Wire& wire) : wire_(wire) {}
  void send(std::span<const Tensor> message) override {
    std::vector<std::vector<std::byte>> bytes;
    for (const Tensor& tensor : message) {
      const auto* from = static_cast<const std::byte*>(tensor.raw());
      bytes.emplace_back(from, from + tensor.size_bytes());
    }
    wire_.put(std::move(bytes));
  }
  void progress() override {}
  void hand_over() override {}
  void drain() override {}
  void reserve(std::span<const TensorSpec> /*message*/, int /*count*/) override {}

 private:
  Wire& wire_;
};

class MemoryReceive final : public ReceiveLink {
 public:
  MemoryReceive(Wire& wire, Device& device) : wire_(wire), device_(device) {}
  void expect(std::span<const TensorSpec> specs) override {
    expected_.emplace_back(specs.begin(), specs.end());
  }
  [[nodiscard]] int expected() const override { return static_cast<int>(expected_.size()); }
  void receive(std::span<Tensor> message) override {
    const auto bytes = wire_.take();
    const std::vector<TensorSpec> specs = expected_.front();
    expected_.pop_front();
    if (bytes.size() != specs.size() || message.size() != specs.size()) {
      fail_internal("a message of another number of tensors");
    }
    for (size_t i = 0; i < specs.size(); ++i) {
      if (bytes[i].size() != specs[i].size_bytes()) fail_internal("a message of another size");
      message[i] = device_.empty(specs[i].shape, specs[i].dtype, Purpose::Activations);
      std::copy(bytes[i].begin(), bytes[i].end(), static_cast<std::byte*>(message[i].raw()));
    }
  }
  void progress() override {}

 private:
  Wire& wire_;
  Device& device_;
  std::deque<std::vector<TensorSpec>> expected_;
};

// The network of one rank: its ends of the wires, and nothing else.
class MemoryNetwork final : public Network {
 public:
  MemoryNetwork(Wires& wires, int rank) : wires_(wires), rank_(rank) {}
  [[nodiscard]] Ends connect(std::span<const DirectedEdge> edges, Device& device) override {
    Ends ends;
    ends.send.resize(edges.size());
    ends.receive.resize(edges.size());
    for (size_t e = 0; e < edges.size(); ++e) {
      Wire& wire = wires_.of(edges[e]);
      if (edges[e].from_position == rank_) ends.send[e] = std::make_unique<MemorySend>(wire);
      if (edges[e].to_position == rank_) {
        ends.receive[e] = std::make_unique<MemoryReceive>(wire, device);
      }
    }
    return ends;
  }
  [[nodiscard]] std::unique_ptr<ReduceGroup> reduce_group(Device& /*device*/) override {
    return nullptr;
  }
  Collective& world() override { none(); }
  Collective& pipeline() override { none(); }
  Collective& replicas() override { none(); }
  [[nodiscard]] int64_t requests_made() const override { return 0; }
  [[nodiscard]] std::string description() const override { return "memory"; }

 private:
  [[noreturn]] static void none() { fail_internal("there are only links here"); }
  Wires& wires_;
  int rank_;
};

}  // namespace penstock

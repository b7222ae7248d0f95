#include "runtime/comm/staged.h"

#include <unordered_map>
#include <utility>
#include <vector>

namespace penstock {
namespace {

Tensor host_twin(const Tensor& tensor, Memory& host) {
  return {host.take(tensor.size_bytes(), Purpose::Communication), tensor.shape(), tensor.dtype()};
}

class StagedSendLink final : public SendLink {
 public:
  StagedSendLink(std::unique_ptr<SendLink> inner, Device& device, Memory& host)
      : inner_(std::move(inner)), device_(device), host_(host) {}

  void send(std::span<const Tensor> message) override {
    for (const Tensor& tensor : message) {
      const Tensor& copy = copies_.emplace_back(host_twin(tensor, host_));
      device_.copy_to_host(copy.raw(), tensor, tensor.size_bytes());
    }
    inner_->send(copies_);
    copies_.clear();  // the inner link holds them
  }
  void progress() override { inner_->progress(); }
  void drain() override { inner_->drain(); }

 private:
  std::unique_ptr<SendLink> inner_;
  Device& device_;
  Memory& host_;
  std::vector<Tensor> copies_;
};

class StagedReceiveLink final : public ReceiveLink {
 public:
  StagedReceiveLink(std::unique_ptr<ReceiveLink> inner, Device& device)
      : inner_(std::move(inner)), device_(device) {}

  void expect(std::span<const TensorSpec> specs) override { inner_->expect(specs); }
  [[nodiscard]] int expected() const override { return inner_->expected(); }
  void receive(std::span<Tensor> message) override {
    inner_->receive(message);
    for (Tensor& tensor : message) {
      const Tensor arrived = std::move(tensor);
      tensor = device_.empty(arrived.shape(), arrived.dtype(), Purpose::Activations);
      device_.copy_from_host(tensor, arrived.raw(), arrived.size_bytes());
    }
  }
  void progress() override { inner_->progress(); }

 private:
  std::unique_ptr<ReceiveLink> inner_;
  Device& device_;
};

class StagedReduceGroup final : public ReduceGroup {
 public:
  StagedReduceGroup(std::unique_ptr<ReduceGroup> inner, Device& device, Memory& host)
      : inner_(std::move(inner)), device_(device), host_(host) {}

  [[nodiscard]] int size() const override { return inner_->size(); }
  void start(const Tensor& buffer) override {
    if (size() == 1) return;
    auto found = twins_.find(buffer.raw());
    if (found == twins_.end()) {
      found = twins_.emplace(buffer.raw(), Twin{buffer, host_twin(buffer, host_)}).first;
    }
    const Twin& twin = found->second;
    device_.copy_to_host(twin.host.raw(), buffer, buffer.size_bytes());
    inner_->start(twin.host);
    started_.push_back(&twin);
  }
  void progress() override { inner_->progress(); }
  void finish() override {
    inner_->finish();
    for (const Twin* twin : started_) {
      Tensor buffer = twin->buffer;
      device_.copy_from_host(buffer, twin->host.raw(), buffer.size_bytes());
    }
    started_.clear();
  }

 private:
  struct Twin {
    Tensor buffer, host;
  };
  std::unique_ptr<ReduceGroup> inner_;
  Device& device_;
  Memory& host_;
  std::unordered_map<void*, Twin> twins_;  // by buffer address
  std::vector<const Twin*> started_;
};

}  // namespace

std::unique_ptr<SendLink> staged(std::unique_ptr<SendLink> inner, Device& device, Memory& host) {
  return std::make_unique<StagedSendLink>(std::move(inner), device, host);
}

std::unique_ptr<ReceiveLink> staged(std::unique_ptr<ReceiveLink> inner, Device& device) {
  return std::make_unique<StagedReceiveLink>(std::move(inner), device);
}

std::unique_ptr<ReduceGroup> staged(std::unique_ptr<ReduceGroup> inner, Device& device,
                                    Memory& host) {
  return std::make_unique<StagedReduceGroup>(std::move(inner), device, host);
}

}  // namespace penstock

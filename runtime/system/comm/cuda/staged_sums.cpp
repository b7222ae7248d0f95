// runtime/system/comm/cuda/staged_sums.cpp -- gradients of a device summed in pinned host memory,
// by MPI: where replicas share a GPU, or where NCCL is not wanted.
//
// A bucket is copied down, summed and copied up again while later buckets are still computed. The
// copies in host memory stay for the run, one per bucket.
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/cuda/cuda_device.h"
#include "runtime/system/comm/accelerated.h"
#include "runtime/system/comm/cuda/watched_device.h"

namespace penstock {
namespace {

class StagedReduceGroup final : public ReduceGroup, private Poller {
 public:
  StagedReduceGroup(std::unique_ptr<MpiReduceGroup> inner, CudaDevice& device, Pollers& pollers)
      : inner_(std::move(inner)),
        queue_(device.queue()),
        host_(device.host_memory()),
        pollers_(pollers),
        entry_(pollers, *this),
        watched_(queue_, pollers) {}

  [[nodiscard]] int size() const override { return inner_->size(); }

  void start(const Tensor& buffer) override { begin(buffer, Work::Sum, {}); }
  void scatter(const Tensor& buffer, std::span<const int64_t> cuts) override {
    begin(buffer, Work::Scatter, cuts);
  }
  void gather(const Tensor& buffer, std::span<const int64_t> cuts) override {
    begin(buffer, Work::Gather, cuts);
  }
  void progress() override { poll(); }

  void finish() override {
    if (started_.empty()) return;
    pollers_.wait_until([this] { return summed_ == started_.size(); }, inner_->context());
    inner_->finish();
    uploaded_.record(up_.get());
    queue_.wait(uploaded_);
    started_.clear();
    handed_ = summed_ = 0;
  }

 private:
  enum class Work : uint8_t { Sum, Scatter, Gather };
  struct Bucket {
    Tensor buffer;  // held, so that no other tensor can appear at its address
    Tensor twin;
    Work work = Work::Sum;  // what it was started for last
    std::vector<int64_t> cuts = {};
    Event made, copied;
  };

  void begin(const Tensor& buffer, Work work, std::span<const int64_t> cuts) {
    inner_->check(buffer);
    if (size() == 1) return;
    Bucket& bucket = bucket_of(buffer);
    bucket.work = work;
    bucket.cuts.assign(cuts.begin(), cuts.end());
    queue_.record(bucket.made);
    bucket.made.hold_back(down_.get());
    copy(bucket.twin, bucket.buffer, down_);
    bucket.copied.record(down_.get());
    started_.push_back(&bucket);
    poll();
  }

  void hand_over(const Bucket& bucket) {
    switch (bucket.work) {
      case Work::Sum:
        return inner_->start(bucket.twin);
      case Work::Scatter:
        return inner_->scatter(bucket.twin, bucket.cuts);
      case Work::Gather:
        return inner_->gather(bucket.twin, bucket.cuts);
    }
  }

  Bucket& bucket_of(const Tensor& buffer) {
    const auto found = buckets_.find(buffer.raw());
    if (found != buckets_.end()) {
      Bucket& bucket = *found->second;
      if (bucket.buffer.elements() == buffer.elements()) return bucket;
      fail_internal("a buffer of gradients has changed its size from " +
                    bucket.buffer.shape().text() + " to " + buffer.shape().text());
    }
    auto bucket = std::make_unique<Bucket>();
    bucket->buffer = buffer;
    bucket->twin = Tensor(host_.take(buffer.size_bytes(), Purpose::Communication), buffer.shape(),
                          buffer.dtype());
    return *buckets_.emplace(buffer.raw(), std::move(bucket)).first->second;
  }

  static void copy(const Tensor& to, const Tensor& from, const Stream& stream) {
    if (from.size_bytes() == 0) return;
    PENSTOCK_CUDA(
        cudaMemcpyAsync(to.raw(), from.raw(), from.size_bytes(), cudaMemcpyDefault, stream.get()));
  }

  void poll() override {
    if (summed_ == started_.size()) return;
    while (handed_ < started_.size() && started_[handed_]->copied.passed()) {
      hand_over(*started_[handed_++]);
    }
    inner_->progress();
    while (summed_ < handed_ && inner_->is_done(started_[summed_]->twin)) {
      const Bucket& bucket = *started_[summed_++];
      copy(bucket.buffer, bucket.twin, up_);
    }
  }

  std::unique_ptr<MpiReduceGroup> inner_;
  Queue& queue_;
  Memory& host_;
  Pollers& pollers_;
  Stream down_, up_;
  Event uploaded_;
  std::unordered_map<void*, std::unique_ptr<Bucket>> buckets_;  // by buffer address
  std::vector<Bucket*> started_;                                // since the last finish()
  size_t handed_ = 0, summed_ = 0;                              // how many MPI has, and has summed
  PollerEntry entry_;
  WatchedDevice watched_;
};

}  // namespace

std::unique_ptr<ReduceGroup> staged_sums(std::unique_ptr<MpiReduceGroup> inner, Device& device,
                                         Pollers& pollers) {
  return std::make_unique<StagedReduceGroup>(std::move(inner), as_cuda(device), pollers);
}

}  // namespace penstock

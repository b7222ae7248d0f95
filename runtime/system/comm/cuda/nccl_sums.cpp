// runtime/system/comm/cuda/nccl_sums.cpp -- gradients of replicas summed by NCCL, bucket by bucket
// on a stream of its own, while earlier layers still differentiate.
//
// Every element is summed in one order, that of runtime/system/comm/pairwise.h, wherever in a
// buffer it lies: see runtime/system/comm/mpi/mpi_reduce.h for why. Two replicas: ncclAllReduce,
// since a + b has one order. More: a ring would start each segment at another member, so members
// exchange segments, each adds the copies of its own by a kernel of ours, and ncclAllGather spreads
// the sums: 2 (D-1)/D of the buffer sent by each, as in a ring, in steps that all members take at
// the same time. What is left over when a slice does not divide by D, a few elements, is gathered
// whole and added by everyone. Members that share the sums out (scatter(), gather()) exchange
// segments of their own elements in the same way, and spread them when asked to.
#include <algorithm>
#include <utility>

#include "kernels/cuda/cuda_device.h"
#include "runtime/system/comm/accelerated.h"
#include "runtime/system/comm/cuda/add_copies.h"
#include "runtime/system/comm/cuda/nccl_comm.h"
#include "runtime/system/comm/cuda/watched_device.h"

namespace penstock {
namespace {

// If there are more than two replicas, this many elements are summed at a time. This bounds the
// scratch memory, and is enough to fill a wire.
constexpr int64_t kSliceElements = int64_t{4} << 20;  // 16 MiB

constexpr int64_t kAligned = 4;  // elements: segments begin at multiples of 16 bytes

class NcclReduceGroup final : public ReduceGroup, private Poller {
 public:
  NcclReduceGroup(CommHandle members, const std::string& name, int blocks, CudaDevice& device,
                  Pollers& pollers)
      : members_(std::move(members)),
        device_(device),
        queue_(device.queue()),
        context_("summing gradients over " + name),
        comm_(members_.get(), context_, blocks),
        entry_(pollers, *this),
        watched_(queue_, pollers) {
    if (comm_.size() > 2) take_scratch();
    warm_up(device);
  }

  [[nodiscard]] int size() const override { return comm_.size(); }

  void start(const Tensor& buffer) override {
    check_gradients(context_, buffer);
    if (size() == 1 || buffer.elements() == 0) return;
    begin();
    sum(buffer.data<float>(), buffer.elements());
    end();
  }
  void scatter(const Tensor& buffer, std::span<const int64_t> cuts) override {
    check_gradients(context_, buffer);
    if (size() == 1) return;
    if (!scratch_) take_scratch();
    begin();
    int64_t longest = 0;
    for (size_t member = 0; member + 1 < cuts.size(); ++member) {
      longest = std::max(longest, cuts[member + 1] - cuts[member]);
    }
    const int64_t segment = kSliceElements / size();
    for (int64_t offset = 0; offset < longest; offset += segment) {
      exchange(buffer.data<float>(), cuts, offset, segment);
    }
    end();
  }
  void gather(const Tensor& buffer, std::span<const int64_t> cuts) override {
    check_gradients(context_, buffer);
    if (size() == 1) return;
    begin();
    comm_.group([&](ncclComm_t comm) {
      const Segment own = segment_of(buffer.data<float>(), cuts, comm_.rank());
      for (int member = 0; member < size(); ++member) {
        if (member == comm_.rank()) continue;
        send(own, member, comm);
        const Segment theirs = segment_of(buffer.data<float>(), cuts, member);
        receive(theirs.data, theirs.elements, member, comm);
      }
    });
    end();
  }
  void progress() override { poll(); }
  void finish() override {
    if (!std::exchange(any_, false)) return;
    summed_.record(stream_.get());
    queue_.wait(summed_);
  }

 private:
  // This is the part of a buffer that one member sums, or a stretch of that part.
  struct Segment {
    float* data = nullptr;
    int64_t elements = 0;
  };
  static Segment segment_of(float* data, std::span<const int64_t> cuts, int member,
                            int64_t offset = 0, int64_t most = INT64_MAX) {
    const auto m = static_cast<size_t>(member);
    const int64_t left = std::max<int64_t>(cuts[m + 1] - cuts[m] - offset, 0);
    return {data + cuts[m] + offset, std::min(left, most)};
  }
  void send(const Segment& segment, int to, ncclComm_t comm) {
    if (segment.elements == 0) return;
    PENSTOCK_NCCL(comm_, ncclSend(segment.data, static_cast<size_t>(segment.elements), ncclFloat32,
                                  to, comm, stream_.get()));
  }
  void receive(float* data, int64_t elements, int from, ncclComm_t comm) {
    if (elements == 0) return;
    PENSTOCK_NCCL(comm_, ncclRecv(data, static_cast<size_t>(elements), ncclFloat32, from, comm,
                                  stream_.get()));
  }

  void take_scratch() {
    const int64_t ranks = comm_.size();
    const int64_t segments = (ranks - 1) * (kSliceElements / ranks);
    const int64_t leftovers = ranks * ranks * kAligned;
    scratch_ = device_.empty({std::max(segments, leftovers)}, DType::F32, Purpose::Communication);
  }
  void begin() {
    queue_.record(made_);
    made_.hold_back(stream_.get());
  }
  void end() {
    last_.record(stream_.get());
    any_ = ever_ = true;
  }

  // Sends every other member this rank's copy of that member's segment. Receives the other members'
  // copies of this rank's segment, and adds these up.
  void exchange(float* data, std::span<const int64_t> cuts, int64_t offset, int64_t most) {
    const Segment own = segment_of(data, cuts, comm_.rank(), offset, most);
    comm_.group([&](ncclComm_t comm) {
      auto* copy = scratch_.data<float>();
      for (int member = 0; member < size(); ++member) {
        if (member == comm_.rank()) continue;
        send(segment_of(data, cuts, member, offset, most), member, comm);
        receive(copy, own.elements, member, comm);
        copy += own.elements;
      }
    });
    add_copies(own.data, scratch_.data<float>(), own.elements, comm_.rank(), size(), stream_.get());
  }

  void sum(float* data, int64_t elements) {
    if (size() == 2) {
      comm_.group([&](ncclComm_t comm) {
        PENSTOCK_NCCL(comm_, ncclAllReduce(data, data, static_cast<size_t>(elements), ncclFloat32,
                                           ncclSum, comm, stream_.get()));
      });
      return;
    }
    for (int64_t first = 0; first < elements; first += kSliceElements) {
      const int64_t length = std::min(kSliceElements, elements - first);
      const int64_t segment = length / size() / kAligned * kAligned;
      if (segment > 0) sum_segments(data + first, segment);
      sum_leftover(data + first + segment * size(), length - segment * size());
    }
  }

  void sum_segments(float* data, int64_t segment) {
    const auto count = static_cast<size_t>(segment);
    float* own = data + comm_.rank() * segment;
    comm_.group([&](ncclComm_t comm) {
      auto* copy = scratch_.data<float>();
      for (int member = 0; member < size(); ++member) {
        if (member == comm_.rank()) continue;
        PENSTOCK_NCCL(comm_, ncclSend(data + member * segment, count, ncclFloat32, member, comm,
                                      stream_.get()));
        PENSTOCK_NCCL(comm_, ncclRecv(copy, count, ncclFloat32, member, comm, stream_.get()));
        copy += segment;
      }
    });
    add_copies(own, scratch_.data<float>(), segment, comm_.rank(), size(), stream_.get());
    gather(own, data, count);
  }

  void sum_leftover(float* data, int64_t elements) {
    if (elements == 0) return;
    float* copies = scratch_.data<float>();
    gather(data, copies, static_cast<size_t>(elements));
    // All copies lie side by side, replica 0's first. The other copies are added to that of replica
    // 0, which then has the sums.
    add_copies(copies, copies + elements, elements, 0, size(), stream_.get());
    PENSTOCK_CUDA(cudaMemcpyAsync(data, copies, static_cast<size_t>(elements) * sizeof(float),
                                  cudaMemcpyDeviceToDevice, stream_.get()));
  }

  void gather(const float* own, float* all, size_t count) {
    comm_.group([&](ncclComm_t comm) {
      PENSTOCK_NCCL(comm_, ncclAllGather(own, all, count, ncclFloat32, comm, stream_.get()));
    });
  }

  // Sums a small buffer, so that connections are set up here and not during a step.
  void warm_up(CudaDevice& device) {
    if (size() == 1) return;
    const Tensor first = device.empty({int64_t{size()} + 1}, DType::F32, Purpose::Communication);
    begin();
    PENSTOCK_CUDA(cudaMemsetAsync(first.raw(), 0, first.size_bytes(), stream_.get()));
    sum(first.data<float>(), first.elements());
    comm_.settle(stream_);
  }

  void poll() override { comm_.look(); }
  [[nodiscard]] std::string awaited() const override {
    return ever_ && !last_.passed() ? context_ : "";
  }

  CommHandle members_;
  CudaDevice& device_;
  Queue& queue_;
  std::string context_;
  Stream stream_{Stream::Priority::Urgent};
  Event made_, summed_, last_;
  NcclComm comm_;      // must be destroyed before its stream
  Tensor scratch_;     // copies of this rank's segment, or of what is left over
  bool any_ = false;   // started since the last finish()
  bool ever_ = false;  // started at any time
  PollerEntry entry_;
  WatchedDevice watched_;
};

}  // namespace

std::unique_ptr<ReduceGroup> nccl_sums(CommHandle comm, const std::string& name, int blocks,
                                       Device& device, Pollers& pollers) {
  return std::make_unique<NcclReduceGroup>(std::move(comm), name, blocks, as_cuda(device), pollers);
}

}  // namespace penstock

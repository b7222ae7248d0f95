#include "runtime/system/comm/mpi/mpi_reduce.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

#include "kernels/error.h"
#include "runtime/system/comm/mpi/mpi_check.h"

namespace penstock {
namespace {

constexpr size_t kLanes = 4;
constexpr int64_t kSliceElements = int64_t{1} << 19;  // 2 MiB
constexpr int64_t kBlock = 1024;                      // elements added at a time; fits in L1

}  // namespace

void check_gradients(const std::string& context, const Tensor& buffer) {
  if (buffer.dtype() == DType::F32 && buffer.shape().rank() == 1) return;
  fail_internal(context + ": a buffer must be fp32 and 1-d, not " + name_of(buffer.dtype()) + " " +
                buffer.shape().text());
}

int64_t MpiReduceGroup::Slice::first(int member) const {
  const auto m = static_cast<size_t>(member);
  return std::min(plan->cuts[m] + offset, plan->cuts[m + 1]);
}

int64_t MpiReduceGroup::Slice::length(int member) const {
  const auto m = static_cast<size_t>(member);
  return std::min(plan->segment, plan->cuts[m + 1] - first(member));
}

MpiReduceGroup::MpiReduceGroup(CommHandle comm, const std::string& name, Memory& memory,
                               Pollers& pollers)
    : comm_(std::move(comm)),
      name_("summing gradients over " + name),
      wanted_("weights updated by " + name),
      memory_(memory),
      pollers_(pollers),
      entry_(pollers, *this) {
  PENSTOCK_MPI(MPI_Comm_rank(comm_.get(), &rank_), name_);
  PENSTOCK_MPI(MPI_Comm_size(comm_.get(), &size_), name_);
  others_ = static_cast<size_t>(size_ - 1);
  if (others_ == 0) return;
  lanes_.resize(kLanes);
  const int64_t segment = (kSliceElements + size_ - 1) / size_;
  const Shape shape{static_cast<int64_t>(others_), segment};
  for (Lane& lane : lanes_) {
    const size_t size_bytes = static_cast<size_t>(shape.elements()) * sizeof(float);
    lane.scratch = Tensor(memory_.take(size_bytes, Purpose::Communication), shape, DType::F32);
  }
  requests_.assign(kLanes * 2 * others_, MPI_REQUEST_NULL);
  indices_.resize(requests_.size());
  statuses_.resize(requests_.size());
}

MpiReduceGroup::~MpiReduceGroup() {
  if (busy_lanes_ == 0 || std::uncaught_exceptions() > 0) return;
  (void)std::fprintf(stderr, "penstock: bug: %s: the group was destroyed before finish()\n",
                     name_.c_str());
}

void MpiReduceGroup::check(const Tensor& buffer) const {
  check_gradients(name_, buffer);
}

void MpiReduceGroup::start(const Tensor& buffer) {
  enqueue(buffer, Work::Sum, {});
}

void MpiReduceGroup::scatter(const Tensor& buffer, std::span<const int64_t> cuts) {
  enqueue(buffer, Work::Scatter, cuts);
}

void MpiReduceGroup::gather(const Tensor& buffer, std::span<const int64_t> cuts) {
  enqueue(buffer, Work::Gather, cuts);
}

void MpiReduceGroup::enqueue(const Tensor& buffer, Work work, std::span<const int64_t> cuts) {
  check(buffer);
  if (others_ == 0) return;
  Plan& plan = plan_of(buffer, work, cuts);
  size_t lane = plan.first_lane;
  plan.left = plan.slices.size();
  for (Slice& slice : plan.slices) {
    lanes_[lane].queue.push_back(&slice);
    if (lanes_[lane].phase == Phase::Idle) advance(lane);
    lane = (lane + 1) % kLanes;
  }
}

bool MpiReduceGroup::is_done(const Tensor& buffer) const {
  const auto waits = [&](Work work) {
    const auto plan = plans_.find({buffer.raw(), work});
    return plan != plans_.end() && plan->second.left > 0;
  };
  return !waits(Work::Sum) && !waits(Work::Scatter) && !waits(Work::Gather);
}

void MpiReduceGroup::progress() {
  while (busy_lanes_ > 0) {
    int completed = 0;
    const int result = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(),
                                    &completed, indices_.data(), statuses_.data());
    if (result == MPI_SUCCESS && completed == 0) return;
    complete(result, completed);
  }
}

void MpiReduceGroup::wait(const Tensor& buffer) {
  const auto has_come = [&] {
    progress();
    return is_done(buffer);
  };
  pollers_.wait_until(has_come, wanted_);
}

void MpiReduceGroup::finish() {
  const auto all_are_summed = [this] {
    progress();
    return busy_lanes_ == 0;
  };
  pollers_.wait_until(all_are_summed, name_);
  for (Lane& lane : lanes_) {
    lane.queue.clear();
    lane.next = 0;
  }
}

MpiReduceGroup::Plan& MpiReduceGroup::plan_of(const Tensor& buffer, Work work,
                                              std::span<const int64_t> cuts) {
  const auto [found, added] = plans_.try_emplace({buffer.raw(), work});
  Plan& plan = found->second;
  if (added) {
    plan.buffer = buffer;
    plan.work = work;
    plan.cuts.assign(cuts.begin(), cuts.end());
    for (int64_t r = 0; cuts.empty() && r <= size_; ++r) {
      plan.cuts.push_back(buffer.elements() * r / size_);
    }
    add_slices(plan);
  }
  if (plan.buffer.elements() != buffer.elements()) {
    fail_internal(name_ + ": a buffer has changed its size from " + plan.buffer.shape().text() +
                  " to " + buffer.shape().text());
  }
  if (std::ssize(plan.cuts) != size_ + 1 || plan.cuts.back() != buffer.elements()) {
    fail_internal(name_ + ": cuts that do not fit " + buffer.shape().text());
  }
  return plan;
}

void MpiReduceGroup::add_slices(Plan& plan) {
  plan.segment = (kSliceElements + size_ - 1) / size_;
  plan.first_lane = next_lane_;
  int64_t longest = 0;
  for (size_t r = 0; r + 1 < plan.cuts.size(); ++r) {
    longest = std::max(longest, plan.cuts[r + 1] - plan.cuts[r]);
  }
  plan.slices.reserve(static_cast<size_t>((longest + plan.segment - 1) / plan.segment));
  for (int64_t offset = 0; offset < longest; offset += plan.segment) {
    plan.slices.push_back({&plan, offset});
    next_lane_ = (next_lane_ + 1) % kLanes;
  }
}

void MpiReduceGroup::begin(size_t lane_index, Phase phase) {
  Lane& lane = lanes_[lane_index];
  lane.phase = phase;
  lane.pending = static_cast<int>(2 * others_);
  const Slice& slice = *lane.slice;
  auto* data = slice.plan->buffer.data<float>();
  const bool scatters = phase == Phase::Scatter;
  for (size_t other = 0; other < others_; ++other) {
    const int from = scatters ? rank_ : member_of(other);
    float* to = scatters
                    ? lane.scratch.data<float>() + static_cast<int64_t>(other) * slice.plan->segment
                    : data + slice.first(from);
    receive(lane_index, other, to, slice.length(from));
  }
  for (size_t other = 0; other < others_; ++other) {
    const int owner = scatters ? member_of(other) : rank_;
    send(lane_index, other, data + slice.first(owner), slice.length(owner));
  }
}

void MpiReduceGroup::receive(size_t lane, size_t other, float* data, int64_t length) {
  PENSTOCK_MPI(
      MPI_Irecv(data, static_cast<int>(length), MPI_FLOAT, member_of(other), static_cast<int>(lane),
                comm_.get(), &requests_[lane * 2 * others_ + other]),
      name_);
}

void MpiReduceGroup::send(size_t lane, size_t other, const float* data, int64_t length) {
  PENSTOCK_MPI(
      MPI_Isend(data, static_cast<int>(length), MPI_FLOAT, member_of(other), static_cast<int>(lane),
                comm_.get(), &requests_[(lane * 2 + 1) * others_ + other]),
      name_);
}

void MpiReduceGroup::advance(size_t lane_index) {
  Lane& lane = lanes_[lane_index];
  if (lane.phase == Phase::Scatter) {
    add_in_pairs(lane);
    if (lane.slice->plan->work == Work::Sum) return begin(lane_index, Phase::Gather);
  }
  if (lane.phase == Phase::Idle) {
    ++busy_lanes_;
  } else {
    --lane.slice->plan->left;
  }
  if (lane.next < lane.queue.size()) {
    lane.slice = lane.queue[lane.next++];
    const bool gathers = lane.slice->plan->work == Work::Gather;
    begin(lane_index, gathers ? Phase::Gather : Phase::Scatter);
  } else {
    lane.phase = Phase::Idle;
    --busy_lanes_;
  }
}

// Adds up the members' copies in the order of runtime/system/comm/pairwise.h, a block at a time.
// The sum stands in this rank's own part of the buffer; the copies are overwritten.
void MpiReduceGroup::add_in_pairs(const Lane& lane) const {
  const Slice& slice = *lane.slice;
  const int64_t length = slice.length(rank_);
  float* own = slice.plan->buffer.data<float>() + slice.first(rank_);
  auto* scratch = lane.scratch.data<float>();
  const auto copy_of = [&](int member) -> float* {
    if (member == rank_) return own;
    return scratch + (member < rank_ ? member : member - 1) * slice.plan->segment;
  };
  for (int64_t first = 0; first < length; first += kBlock) {
    const int64_t n = std::min(kBlock, length - first);
    for (int apart = 1; apart < size_; apart *= 2) {
      for (int member = 0; member + apart < size_; member += 2 * apart) {
        float* sum = copy_of(member) + first;
        const float* values = copy_of(member + apart) + first;
        for (int64_t i = 0; i < n; ++i) sum[i] += values[i];
      }
    }
    if (rank_ != 0) std::copy_n(copy_of(0) + first, n, own + first);
  }
}

void MpiReduceGroup::complete(int result, int completed) {
  if (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS) fail_mpi("MPI_Testsome", result, name_);
  for (size_t i = 0; i < static_cast<size_t>(completed); ++i) {
    const auto request = static_cast<size_t>(indices_[i]);
    const size_t lane_index = request / (2 * others_);
    Lane& lane = lanes_[lane_index];
    const int error = result == MPI_SUCCESS ? MPI_SUCCESS : statuses_[i].MPI_ERROR;
    check(lane, request % (2 * others_), error, statuses_[i]);
    if (--lane.pending == 0) advance(lane_index);
  }
}

void MpiReduceGroup::check(const Lane& lane, size_t request, int error,
                           const MPI_Status& status) const {
  const bool is_longer = error == MPI_ERR_TRUNCATE;
  if (error != MPI_SUCCESS && !is_longer) fail_mpi("MPI_Testsome", error, name_);
  if (request >= others_) return;  // a send has no length to check
  const int member = member_of(request);
  const int64_t expected = lane.slice->length(lane.phase == Phase::Scatter ? rank_ : member);
  int arrived = 0;
  PENSTOCK_MPI(MPI_Get_count(&status, MPI_FLOAT, &arrived), name_);
  if (is_longer || arrived != expected) {
    fail_peer(name_ + ": expected " + std::to_string(expected) + " elements from replica " +
              std::to_string(member) + " and " + (is_longer ? "more" : std::to_string(arrived)) +
              " came: is the model section the same on all ranks?");
  }
}

int MpiReduceGroup::member_of(size_t other) const {
  const int member = static_cast<int>(other);
  return member < rank_ ? member : member + 1;
}

}  // namespace penstock

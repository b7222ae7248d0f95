#include "runtime/system/comm/mpi/mpi_late_gather.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/error.h"
#include "runtime/system/comm/mpi/mpi_check.h"

namespace penstock {
namespace {

constexpr const char* kLateGather = "the norm and the loss of all ranks";

}  // namespace

MpiLateGather::MpiLateGather(CommHandle comm, size_t mine, Collective& world, Pollers& pollers)
    : comm_(std::move(comm)), pollers_(pollers), numbers_(std::make_unique<Numbers>()) {
  numbers_->mine.resize(mine);
  size_t total = 0;
  for (const int64_t count : world.gather_to_all(static_cast<int64_t>(mine))) {
    offsets_.push_back(mpi_count(total, kLateGather));
    counts_.push_back(mpi_count(static_cast<size_t>(count), kLateGather));
    total += static_cast<size_t>(count);
  }
  numbers_->all.resize(total);
}

// Leaves the numbers to MPI, which may still write to them, if a gather is under way. This happens
// if the run fails: the other ranks then never come, so this rank must not wait for them.
MpiLateGather::~MpiLateGather() {
  if (!under_way_) return;
  int done = 0;
  if (MPI_Test(request_.address(), &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0) return;
  *request_.address() = MPI_REQUEST_NULL;
  (void)numbers_.release();
}

void MpiLateGather::start(std::span<const double> mine) {
  if (under_way_ || mine.size() != numbers_->mine.size()) {
    fail_internal("a gather was started twice, or with another number of values");
  }
  std::copy(mine.begin(), mine.end(), numbers_->mine.begin());
  PENSTOCK_MPI(MPI_Iallgatherv(numbers_->mine.data(), static_cast<int>(numbers_->mine.size()),
                               MPI_DOUBLE, numbers_->all.data(), counts_.data(), offsets_.data(),
                               MPI_DOUBLE, comm_.get(), request_.address()),
               kLateGather);
  under_way_ = true;
}

std::span<const double> MpiLateGather::finish() {
  if (!under_way_) fail_internal("nothing was gathered");
  int result = MPI_SUCCESS;
  const auto has_ended = [&] {
    int done = 0;
    result = MPI_Test(request_.address(), &done, MPI_STATUS_IGNORE);
    return done != 0 || result != MPI_SUCCESS;
  };
  pollers_.wait_until(has_ended, kLateGather);
  PENSTOCK_MPI(result, kLateGather);
  under_way_ = false;
  return numbers_->all;
}

}  // namespace penstock

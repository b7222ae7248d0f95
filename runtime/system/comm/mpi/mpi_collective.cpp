#include "runtime/system/comm/mpi/mpi_collective.h"

#include <algorithm>
#include <utility>

#include "kernels/error.h"
#include "runtime/system/comm/mpi/mpi_check.h"

namespace penstock {
namespace {

// Returns the bytes in pieces that are short enough for MPI's counts, which are ints.
template <class Byte>
std::vector<std::span<Byte>> pieces_of(std::span<Byte> bytes) {
  constexpr size_t kPiece = size_t{1} << 30;
  std::vector<std::span<Byte>> pieces;
  for (; !bytes.empty(); bytes = bytes.subspan(pieces.back().size())) {
    pieces.push_back(bytes.first(std::min(bytes.size(), kPiece)));
  }
  return pieces;
}

}  // namespace

MpiCollective::MpiCollective(CommHandle comm, std::string name, Pollers& pollers)
    : comm_(std::move(comm)), name_(std::move(name)), pollers_(pollers) {
  PENSTOCK_MPI(MPI_Comm_rank(comm_.get(), &rank_), name_);
  PENSTOCK_MPI(MPI_Comm_size(comm_.get(), &size_), name_);
  counts_.resize(static_cast<size_t>(size_));
  offsets_.resize(static_cast<size_t>(size_));
}

void MpiCollective::wait_for(RequestHandle& request) {
  int result = MPI_SUCCESS;
  const auto has_ended = [&] {
    int done = 0;
    result = MPI_Test(request.address(), &done, MPI_STATUS_IGNORE);
    return done != 0 || result != MPI_SUCCESS;
  };
  pollers_.wait_until(has_ended, name_);
  PENSTOCK_MPI(result, name_);
}

void MpiCollective::barrier() {
  RequestHandle request;
  PENSTOCK_MPI(MPI_Ibarrier(comm_.get(), request.address()), name_);
  wait_for(request);
}

void MpiCollective::sum(std::span<double> values) {
  const size_t n = values.size();
  const int count = mpi_count(n, name_);
  scratch_.resize(n * static_cast<size_t>(size_));
  RequestHandle request;
  PENSTOCK_MPI(MPI_Iallgather(values.data(), count, MPI_DOUBLE, scratch_.data(), count, MPI_DOUBLE,
                              comm_.get(), request.address()),
               name_);
  wait_for(request);
  std::copy_n(scratch_.begin(), n, values.begin());
  for (size_t member = 1; member < static_cast<size_t>(size_); ++member) {
    for (size_t i = 0; i < n; ++i) values[i] += scratch_[member * n + i];
  }
}

void MpiCollective::gather(std::span<const double> mine, std::span<const int> counts,
                           std::span<double> all) {
  if (rank_ == 0) {
    if (std::ssize(counts) != size_) {
      fail_internal(name_ + " are " + std::to_string(size_) + ", not " +
                    std::to_string(counts.size()));
    }
    std::copy(counts.begin(), counts.end(), counts_.begin());
    check_room(place_counts(), all.size());
  }
  RequestHandle request;
  PENSTOCK_MPI(
      MPI_Igatherv(mine.data(), mpi_count(mine.size(), name_), MPI_DOUBLE, all.data(),
                   counts_.data(), offsets_.data(), MPI_DOUBLE, 0, comm_.get(), request.address()),
      name_);
  wait_for(request);
}

void MpiCollective::gather_counts(const int& mine) {
  RequestHandle request;
  PENSTOCK_MPI(
      MPI_Iallgather(&mine, 1, MPI_INT, counts_.data(), 1, MPI_INT, comm_.get(), request.address()),
      name_);
  wait_for(request);
}

size_t MpiCollective::place_counts() {
  size_t total = 0;
  for (size_t member = 0; member < counts_.size(); ++member) {
    offsets_[member] = mpi_count(total, name_);
    total += static_cast<size_t>(counts_[member]);
  }
  return total;
}

void MpiCollective::check_room(size_t values, size_t room) const {
  if (room == values) return;
  fail_internal(name_ + " gather " + std::to_string(values) + " values into room for " +
                std::to_string(room));
}

void MpiCollective::gather_to_all(std::span<const double> mine, std::span<double> all) {
  const int count = mpi_count(mine.size(), name_);
  gather_counts(count);
  check_room(place_counts(), all.size());
  RequestHandle request;
  PENSTOCK_MPI(MPI_Iallgatherv(mine.data(), count, MPI_DOUBLE, all.data(), counts_.data(),
                               offsets_.data(), MPI_DOUBLE, comm_.get(), request.address()),
               name_);
  wait_for(request);
}

std::vector<int64_t> MpiCollective::gather_to_all(int64_t mine) {
  std::vector<int64_t> all(static_cast<size_t>(size_));
  RequestHandle request;
  PENSTOCK_MPI(MPI_Iallgather(&mine, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, comm_.get(),
                              request.address()),
               name_);
  wait_for(request);
  return all;
}

std::vector<std::string> MpiCollective::gather_text(const std::string& mine) {
  const int count = mpi_count(mine.size(), name_);
  gather_counts(count);
  const size_t total = place_counts();
  std::string joined(rank_ == 0 ? total : 0, '\0');
  RequestHandle request;
  PENSTOCK_MPI(MPI_Igatherv(mine.data(), count, MPI_CHAR, joined.data(), counts_.data(),
                            offsets_.data(), MPI_CHAR, 0, comm_.get(), request.address()),
               name_);
  wait_for(request);
  std::vector<std::string> all;
  if (rank_ != 0) return all;
  for (size_t member = 0; member < counts_.size(); ++member) {
    all.push_back(
        joined.substr(static_cast<size_t>(offsets_[member]), static_cast<size_t>(counts_[member])));
  }
  return all;
}

std::string MpiCollective::broadcast(const std::string& text, int root) {
  int length = mpi_count(rank_ == root ? text.size() : 0, name_);
  broadcast_bytes(&length, sizeof(length), root);
  std::string result = rank_ == root ? text : std::string(static_cast<size_t>(length), '\0');
  broadcast_bytes(result.data(), result.size(), root);
  return result;
}

void MpiCollective::broadcast(std::span<double> values, int root) {
  broadcast_bytes(values.data(), values.size_bytes(), root);
}

void MpiCollective::give(std::span<const std::byte> bytes, int to) {
  for (const auto piece : pieces_of(bytes)) {
    RequestHandle request;
    PENSTOCK_MPI(MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, to, 0,
                           comm_.get(), request.address()),
                 name_);
    wait_for(request);
  }
}

void MpiCollective::take(std::span<std::byte> bytes, int from) {
  for (const auto piece : pieces_of(bytes)) {
    RequestHandle request;
    PENSTOCK_MPI(MPI_Irecv(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, from, 0,
                           comm_.get(), request.address()),
                 name_);
    wait_for(request);
  }
}

void MpiCollective::broadcast_bytes(void* data, size_t size_bytes, int root) {
  RequestHandle request;
  PENSTOCK_MPI(MPI_Ibcast(data, mpi_count(size_bytes, name_), MPI_BYTE, root, comm_.get(),
                          request.address()),
               name_);
  wait_for(request);
}

}  // namespace penstock

#include "runtime/system/comm/mpi/mpi_link.h"

#include <cstdio>
#include <exception>
#include <functional>
#include <utility>

#include "kernels/error.h"
#include "runtime/system/comm/mpi/mpi_check.h"

namespace penstock {
namespace {

// Calls visit(address, bytes, is_last) for each piece of the tensor. An empty tensor has one piece
// of no bytes.
template <class Visit>
void for_each_piece(const Tensor& tensor, size_t piece_bytes, Visit visit) {
  auto* data = static_cast<std::byte*>(tensor.raw());
  size_t left = tensor.size_bytes();
  while (left > piece_bytes) {
    visit(data, static_cast<int>(piece_bytes), false);
    data += piece_bytes;
    left -= piece_bytes;
  }
  visit(data, static_cast<int>(left), true);
}

// Reports a link that is destroyed while transfers are under way, which is a bug. A destructor must
// not wait for the transfers. The memory goes back to its cache, so the transfers would read or
// write another tensor's bytes.
void report_unfinished(const std::string& context, size_t pieces) {
  if (pieces == 0 || std::uncaught_exceptions() > 0) return;
  (void)std::fprintf(stderr,
                     "penstock: bug: %s: the link was destroyed with %zu transfers under way\n",
                     context.c_str(), pieces);
}

[[noreturn]] void fail_size(const std::string& context, int expected, const std::string& arrived) {
  fail_peer(context + ": expected " + std::to_string(expected) + " bytes and " + arrived +
            ": is the model section the same on all ranks?");
}

}  // namespace

MpiSendLink::MpiSendLink(const MpiEdge& edge, Memory& memory, Pollers& pollers,
                         int64_t& requests_made, size_t piece_bytes)
    : context_("sending " + edge.name),
      requests_(edge.comm, edge.peer, edge.tag, Transfer::Send, context_, requests_made),
      memory_(memory),
      pollers_(pollers),
      piece_bytes_(piece_bytes) {}

MpiSendLink::~MpiSendLink() {
  report_unfinished(context_, in_flight_.size());
}

void MpiSendLink::send(std::span<const Tensor> message) {
  progress();
  for (const Tensor& tensor : message) {
    for_each_piece(tensor, piece_bytes_, [&](void* data, int size_bytes, bool) {
      in_flight_.push_back({tensor, requests_.start(data, size_bytes)});
    });
  }
}

void MpiSendLink::progress() {
  size_t completed = 0;
  for (const Piece& piece : in_flight_) {
    int done = 0;
    PENSTOCK_MPI(MPI_Test(requests_.request(piece.request), &done, MPI_STATUS_IGNORE), context_);
    if (done == 0) break;
    ++completed;
  }
  release(completed);
}

void MpiSendLink::drain() {
  const auto all_have_left = [this] {
    progress();
    return idle();
  };
  pollers_.wait_until(all_have_left, context_);
}

void MpiSendLink::reserve(std::span<const TensorSpec> message, int count) {
  for (const TensorSpec& spec : message) memory_.add_spare(spec.size_bytes(), count);
}

void MpiSendLink::release(size_t completed) {
  for (size_t i = 0; i < completed; ++i) requests_.put_back(in_flight_[i].request);
  in_flight_.erase(in_flight_.begin(), in_flight_.begin() + static_cast<std::ptrdiff_t>(completed));
}

MpiReceiveLink::MpiReceiveLink(const MpiEdge& edge, Memory& memory, Purpose purpose,
                               Pollers& pollers, int64_t& requests_made, size_t piece_bytes)
    : context_("receiving " + edge.name),
      requests_(edge.comm, edge.peer, edge.tag, Transfer::Receive, context_, requests_made),
      memory_(memory),
      purpose_(purpose),
      pollers_(pollers),
      piece_bytes_(piece_bytes) {}

MpiReceiveLink::~MpiReceiveLink() {
  report_unfinished(context_, posted_.size());
}

void MpiReceiveLink::expect(std::span<const TensorSpec> specs) {
  for (const TensorSpec& spec : specs) {
    const Tensor tensor(memory_.take(spec.size_bytes(), purpose_), spec.shape, spec.dtype);
    for_each_piece(tensor, piece_bytes_, [&](void* data, int piece_size, bool is_last) {
      posted_.push_back({tensor, requests_.start(data, piece_size), is_last});
    });
  }
  messages_.push_back(specs.size());
}

void MpiReceiveLink::receive(std::span<Tensor> message) {
  if (messages_.empty() || messages_.front() != message.size()) {
    fail_internal(
        context_ + ": a message of " + std::to_string(message.size()) + " tensors is taken, but " +
        (messages_.empty() ? "none" : std::to_string(messages_.front())) + " is expected");
  }
  size_t taken = 0;
  for (Tensor& tensor : message) {
    bool is_whole = false;
    while (!is_whole) {
      Piece& piece = posted_[taken++];
      wait(piece);
      requests_.put_back(piece.request);
      is_whole = piece.ends_tensor;
      tensor = std::move(piece.tensor);
    }
  }
  posted_.erase(posted_.begin(), posted_.begin() + static_cast<std::ptrdiff_t>(taken));
  messages_.erase(messages_.begin());
}

void MpiReceiveLink::wait(Piece& piece) {
  const int expected = requests_.size_bytes(piece.request);
  // This waits as MPI_Wait does, but the other links and sums go on meanwhile, and the wait has a
  // time limit.
  pollers_.wait_until([&] { return is_done(piece); }, context_);
  int error_class = MPI_SUCCESS;
  if (piece.result != MPI_SUCCESS) (void)MPI_Error_class(piece.result, &error_class);
  if (error_class == MPI_ERR_TRUNCATE) fail_size(context_, expected, "a longer message came");
  if (piece.result != MPI_SUCCESS) fail_mpi("MPI_Test", piece.result, context_);
  int arrived = 0;
  PENSTOCK_MPI(MPI_Get_count(&piece.status, MPI_BYTE, &arrived), context_);
  if (arrived != expected) fail_size(context_, expected, std::to_string(arrived) + " came");
}

void MpiReceiveLink::progress() {
  if (!posted_.empty()) (void)is_done(posted_.front());
}

// Returns whether the piece has come. A piece that has failed counts as come: receive() then says
// what is wrong.
bool MpiReceiveLink::is_done(Piece& piece) {
  if (piece.has_come) return true;
  int done = 0;
  piece.result = MPI_Test(requests_.request(piece.request), &done, &piece.status);
  piece.has_come = done != 0 || piece.result != MPI_SUCCESS;
  return piece.has_come;
}

bool MpiReceiveLink::arrived() {
  if (messages_.empty()) return false;
  size_t tensors = messages_.front();
  for (Piece& piece : posted_) {
    if (tensors == 0) break;
    if (!is_done(piece)) return false;
    if (piece.ends_tensor) --tensors;
  }
  return true;
}

}  // namespace penstock

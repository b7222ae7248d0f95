// runtime/system/comm/mpi/mpi_link.h -- the two ends of one directed edge over MPI, for memory that
// MPI reads. The functions do what SendLink and ReceiveLink (network.h) say, and throw Error(Peer)
// when MPI fails or nothing comes within the pollers' limit.
//
// A message is a tuple of tensors; each travels as one MPI message, or as several where it is
// larger than kPieceBytes (an MPI count is an int). Both ends cut alike, and MPI keeps the order,
// so no header is needed. Bytes go from the tensor to the wire and back without a copy.
//
// A message of another size than expected is refused, but ranks must agree on the model before they
// connect: where the message is longer, and above the eager limit, Open MPI 4.1 (single copy)
// writes past the buffer before it reports the error.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/memory/memory.h"
#include "runtime/system/comm/handle.h"
#include "runtime/system/comm/mpi/request_pool.h"
#include "runtime/system/comm/network.h"
#include "runtime/system/comm/pollers.h"

namespace penstock {

inline constexpr size_t kPieceBytes = size_t{1} << 30;  // the most that one MPI message carries

// One end of a directed edge: messages to or from `peer` with a tag that no other edge of these two
// ranks has. The communicator is not owned and must outlive the end.
struct MpiEdge {
  MPI_Comm comm = MPI_COMM_NULL;
  int peer = 0;
  int tag = 0;
  std::string name;  // "activations of stage 0 to stage 1 (rank 0 to rank 1)"
};

class MpiSendLink final : public SendLink {
 public:
  // `memory` is where messages come from. Each request that is made adds 1 to `requests_made`;
  // drain() waits by `pollers`. All must outlive the link, as must MPI.
  MpiSendLink(const MpiEdge& edge, Memory& memory, Pollers& pollers, int64_t& requests_made,
              size_t piece_bytes = kPieceBytes);
  // Everything must have left (drain()); else a line on standard error says that it has not.
  ~MpiSendLink() override;
  void send(std::span<const Tensor> message) override;
  void progress() override;
  void hand_over() override {}  // what was sent needs only calls of MPI
  void drain() override;
  void reserve(std::span<const TensorSpec> message, int count) override;
  [[nodiscard]] bool idle() const { return in_flight_.empty(); }
  [[nodiscard]] const std::string& context() const { return context_; }  // for errors

 private:
  struct Piece {
    Tensor tensor;  // keeps the bytes alive until they have left
    int request;
  };
  void release(size_t completed);

  std::string context_;
  RequestPool requests_;
  Memory& memory_;
  Pollers& pollers_;
  size_t piece_bytes_;
  std::vector<Piece> in_flight_;  // in the order of sending
};

class MpiReceiveLink final : public ReceiveLink {
 public:
  // Messages arrive in tensors from `memory`, charged to `purpose`.
  MpiReceiveLink(const MpiEdge& edge, Memory& memory, Purpose purpose, Pollers& pollers,
                 int64_t& requests_made, size_t piece_bytes = kPieceBytes);
  // All expected messages must have been received; else a line on standard error says so.
  ~MpiReceiveLink() override;
  void expect(std::span<const TensorSpec> specs) override;
  [[nodiscard]] int expected() const override { return static_cast<int>(messages_.size()); }
  void receive(std::span<Tensor> message) override;
  void progress() override;
  // Whether receive() would return without waiting.
  [[nodiscard]] bool arrived();
  // "receiving activations of stage 0 to stage 1 (rank 0 to rank 1)", for errors.
  [[nodiscard]] const std::string& context() const { return context_; }

 private:
  struct Piece {
    Tensor tensor;
    int request;
    bool ends_tensor;
    // Of MPI_Test, the only look that an MPI allows us: in MPICH 5 and Intel MPI the status is
    // empty once MPI_Request_get_status has been asked.
    bool has_come = false;
    int result = MPI_SUCCESS;
    MPI_Status status = {};
  };
  void wait(Piece& piece);
  [[nodiscard]] bool is_done(Piece& piece);

  std::string context_;
  RequestPool requests_;
  Memory& memory_;
  Purpose purpose_;
  Pollers& pollers_;
  size_t piece_bytes_;
  std::vector<Piece> posted_;     // in the order of expecting
  std::vector<size_t> messages_;  // tensors in each expected message
};

}  // namespace penstock

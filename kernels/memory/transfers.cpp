#include "kernels/memory/transfers.h"

namespace penstock {
namespace {

// Uploads as soon as start() is called. Devices that copy in the order of their ops use this lane.
class InOrder final : public UploadLane {
 public:
  explicit InOrder(Transfers& transfers) : transfers_(transfers) {}
  void start(size_t /*slot*/, std::span<Tensor> to, std::span<const Tensor> from) override {
    for (size_t i = 0; i < to.size(); ++i) transfers_.upload(to[i], from[i]);
  }
  void join(size_t /*slot*/) override {}

 private:
  Transfers& transfers_;
};

}  // namespace

std::unique_ptr<UploadLane> Transfers::make_upload_lane(size_t /*slots*/) {
  return std::make_unique<InOrder>(*this);
}

}  // namespace penstock

// kernels/cuda/families/token.cpp -- the token family: checks of shapes before its kernels.
#include "kernels/cuda/families/token.h"

#include "kernels/checks.h"

namespace penstock {
namespace {

class CudaToken final : public TokenOps {
 public:
  explicit CudaToken(CudaContext& context) : context_(context) {}

  void embedding_forward(Tensor& y, const Tensor& ids, const Tensor& table) override {
    require_elements("embedding_forward", y, ids.elements() * table.dim(1));
    penstock::embedding_forward(context_, y, ids, table);
  }
  void embedding_backward(Tensor& dtable, const Tensor& ids, const Tensor& g) override {
    require_elements("embedding_backward", g, ids.elements() * dtable.dim(1));
    penstock::embedding_backward(context_, dtable, ids, g);
  }
  void packed_places(Tensor& places, const Tensor& starts) override {
    require_alike("packed_places", places, starts);
    penstock::packed_places(context_, places, starts);
  }
  void cross_entropy_forward(Tensor& result, Tensor& logsumexp, const Tensor& logits,
                             const Tensor& labels, const CrossEntropyOptions& options,
                             int64_t first_row) override {
    check_rows("cross_entropy_forward", logits, labels, logsumexp, first_row);
    require_elements("cross_entropy_forward", result, 3);
    penstock::cross_entropy_forward(context_, result, logsumexp, logits, labels, options,
                                    first_row);
  }
  void cross_entropy_backward(Tensor& dlogits, const Tensor& logits, const Tensor& labels,
                              const Tensor& logsumexp, float scale,
                              const CrossEntropyOptions& options, int64_t first_row) override {
    check_rows("cross_entropy_backward", logits, labels, logsumexp, first_row);
    require_alike("cross_entropy_backward", dlogits, logits);
    penstock::cross_entropy_backward(context_, dlogits, logits, labels, logsumexp, scale, options,
                                     first_row);
  }

 private:
  static void check_rows(const char* op, const Tensor& logits, const Tensor& labels,
                         const Tensor& logsumexp, int64_t first_row) {
    require_piece(op, logits, labels, first_row);
    require_elements(op, logsumexp, labels.elements());
  }

  CudaContext& context_;
};

}  // namespace

std::unique_ptr<TokenOps> cuda_token_ops(CudaContext& context) {
  return std::make_unique<CudaToken>(context);
}

}  // namespace penstock

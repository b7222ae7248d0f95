// kernels/cuda/dense/dense.cpp -- matrix products on the GPU: shapes turned into cuBLASLt products,
// each with as much of what follows it as the library does in the same pass.
#include "kernels/checks.h"
#include "kernels/cuda/dense/bias_function.h"
#include "kernels/cuda/dense/cublaslt.h"
#include "kernels/cuda/dense/row_copy.h"
#include "kernels/cuda/dense/row_pieces.h"
#include "kernels/ops/product_shape.h"

namespace penstock {
namespace {

// Multiplies matrices with cuBLASLt. If the library has no epilogue for what comes after a product,
// a pass of our own does it.
class CudaDense final : public DenseOps {
 public:
  explicit CudaDense(CudaContext& context)
      : context_(context), library_(context), pointwise_(cuda_pointwise_ops(context)) {}

  void linear_forward(Tensor& y, const Tensor& x, Weight& w, const Tensor* bias, Fused f) override {
    const int64_t rows = linear_rows("linear forward", x, y, w.value());
    require_bias("linear forward", bias, w.shape()[0]);
    Product product{.m = rows,
                    .n = w.shape()[0],
                    .k = w.shape()[1],
                    .transpose_b = true,
                    .operand_type = x.dtype(),
                    .result_type = y.dtype()};
    const RowPieces pieces = output_pieces(rows, w, y.dtype());
    if (pieces.rows > 0) product.n = pieces.columns;
    product.epilogue = granted(product, epilogue_for(bias != nullptr, f));
    const bool fused = product.epilogue != Epilogue::None;
    const Tensor weight = as_type(x.dtype(), w);
    const Tensor added = fused && bias != nullptr ? as_type(y.dtype(), *bias) : Tensor();
    CublasLt::Operands at{.c = y.raw(), .a = x.raw(), .b = weight.raw(), .bias = added.raw()};
    in_pieces(rows, pieces, [&](const RowPiece& piece) {
      if (piece.padded) {
        product.m = piece.rows;
        at.c = piece.padded.raw();
        at.a = row(x, piece.first);
      }
      library_.multiply(product, at);
      if (piece.padded) {
        copy_rows(context_, row(y, piece.first), w.shape()[0], piece.padded.data<bfloat16>(),
                  pieces.columns, piece.rows);
      }
    });
    if (!fused) apply_bias_function(context_, y, bias, f);
  }

  void linear_backward_input(Tensor& dx, const Tensor& g, Weight& w) override {
    const int64_t rows = linear_rows("linear backward input", dx, g, w.value());
    const Tensor weight = as_type(g.dtype(), w);
    Product product{.m = rows,
                    .n = w.shape()[1],
                    .k = w.shape()[0],
                    .operand_type = g.dtype(),
                    .result_type = dx.dtype()};
    CublasLt::Operands at{.c = dx.raw(), .a = g.raw(), .b = weight.raw()};
    const RowPieces pieces = output_pieces(rows, w, g.dtype());
    if (pieces.rows > 0) product.k = pieces.columns;  // k is padded: zeros in both operands
    in_pieces(rows, pieces, [&](const RowPiece& piece) {
      if (piece.padded) {
        product.m = piece.rows;
        at.a = pad(g, piece, pieces.columns);
        at.c = row(dx, piece.first);
      }
      library_.multiply(product, at);
    });
  }

  void linear_backward_weight(Tensor& dw, Tensor* dbias, const Tensor& x, const Tensor& g,
                              bool accumulate) override {
    const int64_t rows = linear_rows("linear backward weight", x, g, dw);
    require_sum("linear backward weight", dw);
    require_bias("linear backward weight", dbias, dw.dim(0));
    Product product{.m = dw.dim(0),
                    .n = dw.dim(1),
                    .k = rows,
                    .transpose_a = true,
                    .operand_type = g.dtype(),
                    .result_type = DType::F32,
                    .accumulate = accumulate};
    const RowPieces pieces = row_pieces(rows, product.m, g.dtype());
    CublasLt::Operands at{.c = dw.raw(), .a = g.raw(), .b = x.raw()};
    in_pieces(rows, pieces, [&](const RowPiece& piece) {
      if (!piece.padded) return library_.multiply(product, at);
      product.k = piece.rows;
      product.accumulate = accumulate || piece.first > 0;
      product.a_stride = pieces.columns;
      at.a = pad(g, piece, pieces.columns);
      at.b = row(x, piece.first);
      multiply_whole_packs(product, at, dw);
    });
    if (dbias != nullptr) linear_backward_bias(*dbias, g);
  }
  void linear_backward_bias(Tensor& dbias, const Tensor& g) override {
    require_bias("linear backward weight", &dbias, g.shape().back());
    pointwise_->add_broadcast_backward(dbias, g);
  }

  bool fused_linear_activation(Tensor& y, Tensor& pre, const Tensor& x, Weight& w,
                               const Tensor* bias, Activation f) override {
    const int64_t rows = linear_rows("linear and activation", x, y, w.value());
    require_bias("linear and activation", bias, w.shape()[0]);
    Product product{.m = rows,
                    .n = w.shape()[0],
                    .k = w.shape()[1],
                    .transpose_b = true,
                    .operand_type = x.dtype(),
                    .result_type = y.dtype(),
                    .epilogue = Epilogue::BiasGelu};
    if (bias == nullptr || !fuses(f, product)) return false;
    const Tensor weight = as_type(x.dtype(), w);
    const Tensor added = as_type(y.dtype(), *bias);
    library_.multiply(
        product,
        {.c = y.raw(), .a = x.raw(), .b = weight.raw(), .bias = added.raw(), .aux = pre.raw()});
    return true;
  }
  bool fused_linear_activation_backward(Tensor& dpre, const Tensor& g, Weight& w, const Tensor& pre,
                                        Activation f) override {
    const int64_t rows = linear_rows("linear and activation backward", dpre, g, w.value());
    const Product product{.m = rows,
                          .n = w.shape()[1],
                          .k = w.shape()[0],
                          .operand_type = g.dtype(),
                          .result_type = dpre.dtype(),
                          .epilogue = Epilogue::GeluGradient};
    if (!fuses(f, product)) return false;
    const Tensor weight = as_type(g.dtype(), w);
    library_.multiply(product,
                      {.c = dpre.raw(), .a = g.raw(), .b = weight.raw(), .aux = pre.raw()});
    return true;
  }

  void matmul(Tensor& c, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b,
              bool accumulate) override {
    const Product product = batched(c, a, b, transpose_a, transpose_b, accumulate);
    library_.multiply(product, {.c = c.raw(), .a = a.raw(), .b = b.raw()});
  }

 private:
  // Returns into which pieces the rows of the outputs are cut. A weight that is bf16 itself is read
  // as it is, without rows of zeros behind its own, so nothing is cut.
  static RowPieces output_pieces(int64_t rows, Weight& w, DType type) {
    if (w.value().dtype() == type) return {};
    return row_pieces(rows, w.shape()[0], type);
  }
  // This is a piece of the rows of outputs, with scratch memory for it. `padded` is empty if
  // nothing is cut.
  struct RowPiece {
    int64_t first = 0, rows = 0;
    Tensor padded;
  };
  // Calls compute(piece) for each piece, in order.
  template <class Compute>
  void in_pieces(int64_t rows, const RowPieces& pieces, const Compute& compute) {
    if (pieces.rows == 0) return compute(RowPiece{});
    for (int64_t first = 0; first < rows; first += pieces.rows) {
      compute(RowPiece{first, std::min(pieces.rows, rows - first),
                       context_.scratch({pieces.elements()}, DType::BF16)});
    }
  }
  // Copies the piece of g to its scratch memory, with zeros up to `columns`, and returns the
  // address of the copy.
  void* pad(const Tensor& g, const RowPiece& piece, int64_t columns) {
    copy_rows(context_, piece.padded.data<bfloat16>(), columns, row(g, piece.first),
              g.shape().back(), piece.rows);
    return piece.padded.raw();
  }
  // Multiplies the rows of dw in whole packs, and then the few rows behind them. For a number of
  // rows that is not a multiple of a pack the library has only slow old algorithms.
  void multiply_whole_packs(Product product, CublasLt::Operands at, const Tensor& dw) {
    const int64_t whole = dw.dim(0) / kRowPack * kRowPack;
    product.m = whole;
    library_.multiply(product, at);
    product.m = dw.dim(0) - whole;
    at.c = dw.data<float>() + whole * dw.dim(1);
    at.a = static_cast<const bfloat16*>(at.a) + whole;
    library_.multiply(product, at);
  }
  static bfloat16* row(const Tensor& matrix, int64_t first) {
    return static_cast<bfloat16*>(matrix.raw()) + first * matrix.shape().back();
  }

  static Epilogue epilogue_for(bool bias, Fused f) {
    if (f == Fused::Tanh) return Epilogue::None;  // the library has no tanh: a pass of ours follows
    if (f == Fused::Relu) return bias ? Epilogue::BiasRelu : Epilogue::Relu;
    return bias ? Epilogue::Bias : Epilogue::None;
  }
  // Returns `epilogue`, or None if the library does not have it for this product.
  Epilogue granted(Product product, Epilogue epilogue) {
    product.epilogue = epilogue;
    return library_.supports(product) ? epilogue : Epilogue::None;
  }

  // Returns whether the library computes f in the product. It does so only for gelu in the tanh
  // form, with a fast tanh that is good enough for bf16.
  bool fuses(Activation f, const Product& product) {
    return f == Activation::GeluTanh && product.result_type == DType::BF16 &&
           library_.supports(product);
  }

  // Returns the weight as products read it: its value if that has the type, else a form that is
  // narrowed once after each update. The form ends in rows of zeros, up to a whole pack of rows.
  Tensor as_type(DType type, Weight& w) {
    if (type == w.value().dtype()) return w.value();
    constexpr uint64_t kNarrowed = hash_name("cuda: rows in bf16");
    Weight::Packing& packing = w.packing(kNarrowed);
    if (!packing.packed) {
      const int64_t in = w.value().elements() / std::max<int64_t>(1, w.shape()[0]);
      packing.packed = context_.scratch({whole_packs(w.shape()[0]), in}, type);
      pointwise_->fill(packing.packed, 0.0F);
    }
    if (packing.version != w.version()) {
      Tensor rows = packing.packed.view(0, w.shape());
      pointwise_->copy(rows, w.value());
      packing.version = w.version();
    }
    return packing.packed;
  }
  // Returns the bias in that type. No narrowed copy of the bias is kept: its few kilobytes are
  // narrowed at each use.
  Tensor as_type(DType type, const Tensor& bias) {
    if (type == bias.dtype()) return bias;
    Tensor narrow = context_.scratch({whole_packs(bias.elements())}, type);
    Tensor numbers = narrow.view(0, bias.shape());
    pointwise_->copy(numbers, bias);
    // The scratch memory behind the numbers is left as it is: it goes into columns that nobody
    // reads.
    return narrow;
  }

  static Product batched(const Tensor& c, const Tensor& a, const Tensor& b, bool transpose_a,
                         bool transpose_b, bool accumulate) {
    const auto [batch, m, n, k] = matmul_sizes(c, a, b, transpose_a, transpose_b);
    return {.batch = batch,
            .m = m,
            .n = n,
            .k = k,
            .transpose_a = transpose_a,
            .transpose_b = transpose_b,
            .operand_type = a.dtype(),
            .result_type = c.dtype(),
            .accumulate = accumulate};
  }

  CudaContext& context_;
  CublasLt library_;
  std::unique_ptr<PointwiseOps> pointwise_;
};

}  // namespace

std::unique_ptr<DenseOps> cuda_dense_ops(CudaContext& context) {
  return std::make_unique<CudaDense>(context);
}

}  // namespace penstock

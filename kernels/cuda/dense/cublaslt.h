// kernels/cuda/dense/cublaslt.h -- the only wrapper of cuBLASLt.
//
// Callers describe a product of row-major matrices. The wrapper asks the library once for each
// description which algorithm it would take, keeps the answer, and runs it: the same product again
// creates nothing. The answer depends on the description and the kind of GPU alone: the alignments
// and the workspace limit that the library is told are fixed, and only algorithms that sum in a
// fixed order may be chosen (none that add partial sums in the output buffer). bf16 products sum in
// fp32; fp32 ones are true fp32 (no tf32). Calls submit commands to the context's queue and do not
// wait.
#pragma once

#include <map>
#include <memory>

#include "kernels/cuda/families.h"

namespace penstock {

// What is done to the product op(a) op(b), written "." below, before it is stored, in the same
// pass.
enum class Epilogue : uint8_t {
  None,
  Bias,          // + bias[n]
  Relu,          // max(., 0)
  BiasRelu,      // max(. + bias[n], 0)
  BiasGelu,      // aux = . + bias[n]; gelu of that in its tanh form
  GeluGradient,  // times the derivative of gelu (tanh form) at aux
};

// Describes c[batch, m, n] = f(op(a) op(b)) + (accumulate ? c : 0), where f is the epilogue.
// Matrices are row-major and dense, except that rows of a may lie apart (a_stride). op(a) is [m,
// k]; a is stored as [k, m] where transpose_a is true. op(b) is [k, n]; b is stored as [n, k] where
// transpose_b is true.
struct Product {
  int64_t batch = 1;
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  DType operand_type = DType::F32;  // of a and b
  DType result_type = DType::F32;   // of c, bias and aux
  bool accumulate = false;
  Epilogue epilogue = Epilogue::None;
  int64_t a_stride = 0;  // elements between two rows of a, as it is stored; 0: their length
  auto operator<=>(const Product&) const = default;  // NOLINT(modernize-use-nullptr): none here
};

class CublasLt {
 public:
  // The context must outlive this, and this the commands that it has submitted.
  explicit CublasLt(CudaContext& context);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  // Whether the library does this product with its epilogue; without an epilogue it always should.
  [[nodiscard]] bool supports(const Product& product);

  // Addresses on the device, each a multiple of 16 (else multiply() throws Error(Internal)). `bias`
  // [n] is read by Bias, BiasRelu and BiasGelu; `aux` [m, n] is written by BiasGelu and read by
  // GeluGradient.
  struct Operands {
    void* c;
    const void* a;
    const void* b;
    const void* bias = nullptr;
    void* aux = nullptr;
  };
  // Nothing is done when m, n or batch is zero; k == 0 is a product of zeros, without an epilogue.
  // Throws Error(Resource) naming the product and the GPU where the library does not support it.
  void multiply(const Product& product, const Operands& operands);

  struct Plan;  // cublaslt.cpp

 private:
  Plan& plan_of(const Product& product);

  CudaContext& context_;
  cublasLtHandle_t handle_ = nullptr;
  std::map<Product, std::unique_ptr<Plan>> plans_;
};

}  // namespace penstock

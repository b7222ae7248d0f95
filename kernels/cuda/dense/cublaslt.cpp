// kernels/cuda/dense/cublaslt.cpp -- plans of matrix products.
//
// The library thinks column-major. A row-major matrix is, byte for byte, the column-major one of
// its transpose, so c = op(a) op(b) is asked for as c^T = op(b)^T op(a)^T: the operands change
// places, keep their transpose flags, and a bias along our columns lies along the library's rows.
#include "kernels/cuda/dense/cublaslt.h"

#include <algorithm>
#include <array>
#include <string>

#include "kernels/cuda/owned.h"
#include "kernels/error.h"

namespace penstock {
namespace {

// We promise the library that every operand starts at a multiple of this many bytes. Weights and
// blocks of memory always have a larger alignment.
constexpr uint32_t kAlignment = 16;
// A plan is allowed this many bytes of workspace, which is enough to split sums on Hopper. Many
// plans take none.
constexpr uint64_t kWorkspaceLimit = uint64_t{32} << 20;

using Operation = Owned<cublasLtMatmulDesc_t, &cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, &cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, &cublasLtMatmulPreferenceDestroy>;

cudaDataType_t cublas_type(DType type) {
  switch (type) {
    case DType::F32:
      return CUDA_R_32F;
    case DType::BF16:
      return CUDA_R_16BF;
    default:
      fail_internal(std::string("no matrix product works in ") + name_of(type));
  }
}

cublasLtEpilogue_t library_epilogue(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::None:
      return CUBLASLT_EPILOGUE_DEFAULT;
    case Epilogue::Bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case Epilogue::Relu:
      return CUBLASLT_EPILOGUE_RELU;
    case Epilogue::BiasRelu:
      return CUBLASLT_EPILOGUE_RELU_BIAS;
    case Epilogue::BiasGelu:
      return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case Epilogue::GeluGradient:
      return CUBLASLT_EPILOGUE_DGELU;
  }
  fail_internal("unknown epilogue");
}

bool has_bias(Epilogue e) {
  return e == Epilogue::Bias || e == Epilogue::BiasRelu || e == Epilogue::BiasGelu;
}
bool has_aux(Epilogue e) {
  return e == Epilogue::BiasGelu || e == Epilogue::GeluGradient;
}

const char* name_of(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::None:
      return "no epilogue";
    case Epilogue::Bias:
      return "epilogue bias";
    case Epilogue::Relu:
      return "epilogue relu";
    case Epilogue::BiasRelu:
      return "epilogue bias and relu";
    case Epilogue::BiasGelu:
      return "epilogue bias and gelu";
    case Epilogue::GeluGradient:
      return "epilogue gelu gradient";
  }
  return "an unknown epilogue";
}

std::string text(const Product& p) {
  return "a product [" + std::to_string(p.batch) + ", " + std::to_string(p.m) + ", " +
         std::to_string(p.k) + (p.transpose_a ? "]' x [" : "] x [") + std::to_string(p.batch) +
         ", " + std::to_string(p.k) + ", " + std::to_string(p.n) +
         (p.transpose_b ? "]' of " : "] of ") + name_of(p.operand_type) + " in " +
         name_of(p.result_type) + (p.accumulate ? ", added to what is there" : "") +
         (p.a_stride > 0 ? ", of padded rows" : "") + ", with " + name_of(p.epilogue);
}

template <class T>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, T value) {
  PENSTOCK_CUDA(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value)));
}
template <class T>
void set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, T value) {
  PENSTOCK_CUDA(cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof(value)));
}
template <class T>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
         T value) {
  PENSTOCK_CUDA(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)));
}

// Describes our row-major matrix [rows, columns] to the library. The library takes matrices to be
// column-major, so it sees the transpose.
Layout new_layout(DType type, int64_t batch, int64_t rows, int64_t columns, int64_t stride = 0) {
  cublasLtMatrixLayout_t layout = nullptr;
  PENSTOCK_CUDA(
      cublasLtMatrixLayoutCreate(&layout, cublas_type(type), static_cast<uint64_t>(columns),
                                 static_cast<uint64_t>(rows), stride > 0 ? stride : columns));
  Layout owned(layout);
  if (batch > 1) {
    set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(batch));
    set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, rows * columns);
  }
  return owned;
}

void point(cublasLtMatmulDesc_t operation, Epilogue epilogue, const void* bias, void* aux) {
  if (has_bias(epilogue)) set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  if (has_aux(epilogue)) set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux);
}

// Describes the operation to the library. `processors` is the number of multiprocessors that the
// product is to use; 0 stands for all.
Operation new_operation(const Product& p, int processors) {
  cublasLtMatmulDesc_t operation = nullptr;
  PENSTOCK_CUDA(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  Operation owned(operation);
  const auto flag = [](bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
  set(operation, CUBLASLT_MATMUL_DESC_TRANSA, static_cast<int32_t>(flag(p.transpose_b)));
  set(operation, CUBLASLT_MATMUL_DESC_TRANSB, static_cast<int32_t>(flag(p.transpose_a)));
  set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE,
      static_cast<uint32_t>(library_epilogue(p.epilogue)));
  if (has_aux(p.epilogue)) set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, p.n);
  if (processors > 0) set(operation, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, int32_t{processors});
  // The library reads the alignment of these pointers when it chooses an algorithm. It does not
  // read what they point to.
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the same alignment, and so choice, in all runs
  void* const anywhere = reinterpret_cast<void*>(uintptr_t{kAlignment});
  point(operation, p.epilogue, anywhere, anywhere);
  return owned;
}

Preference new_preference() {
  cublasLtMatmulPreference_t preference = nullptr;
  PENSTOCK_CUDA(cublasLtMatmulPreferenceCreate(&preference));
  Preference owned(preference);
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceLimit);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, kAlignment);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, kAlignment);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, kAlignment);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, kAlignment);
  // If the library splits k, the partial sums stay in the workspace in fp32 and are added in one
  // fixed order.
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  return owned;
}

bool aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % kAlignment == 0;
}

}  // namespace

struct CublasLt::Plan {
  cublasLtHandle_t handle;
  Product product;
  Operation operation;
  Layout a, b, c;  // ours: the library's A is our b, and its B is our a
  cublasLtMatmulAlgo_t algorithm{};
  size_t workspace_bytes = 0;
  bool supported = false;

  Plan(cublasLtHandle_t library, const Product& p, int processors)
      : handle(library),
        product(p),
        operation(new_operation(p, processors)),
        a(new_layout(p.operand_type, p.batch, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k,
                     p.a_stride)),
        b(new_layout(p.operand_type, p.batch, p.transpose_b ? p.n : p.k,
                     p.transpose_b ? p.k : p.n)),
        c(new_layout(p.result_type, p.batch, p.m, p.n)) {
    choose();
  }

  // Takes the first suggestion of the library that the library says it can run. If there is no such
  // suggestion, the product is not supported.
  void choose() {
    if (has_aux(product.epilogue) && product.n % 8 != 0) return;  // the library's rule for aux
    const Preference preference = new_preference();
    std::array<cublasLtMatmulHeuristicResult_t, 8> found{};
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, operation.get(), b.get(), a.get(), c.get(), c.get(), preference.get(),
        static_cast<int>(found.size()), found.data(), &count);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return;
    check_status("cublasLtMatmulAlgoGetHeuristic", status);
    const auto end = found.begin() + count;
    const auto usable = std::find_if(found.begin(), end, [](const auto& result) {
      return result.state == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= kWorkspaceLimit;
    });
    if (usable == end) return;
    algorithm = usable->algo;
    workspace_bytes = usable->workspaceSize;
    supported = true;
  }

  // Returns a number of the chosen algorithm's configuration as text, or an empty text if the
  // algorithm has no such number.
  [[nodiscard]] std::string configured(const char* name,
                                       cublasLtMatmulAlgoConfigAttributes_t attribute) const {
    int32_t value = 0;  // the numbers that are asked for below have at most 32 bits
    size_t written = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof value, &written);
    if (status != CUBLAS_STATUS_SUCCESS) return {};
    return std::string(", ") + name + " " + std::to_string(value);
  }
  [[nodiscard]] std::string choice() const {
    if (!supported) return text(product) + ": refused";
    return text(product) + ": cuBLASLt" + configured("algorithm", CUBLASLT_ALGO_CONFIG_ID) +
           configured("tile", CUBLASLT_ALGO_CONFIG_TILE_ID) +
           configured("stages", CUBLASLT_ALGO_CONFIG_STAGES_ID) +
           configured("split", CUBLASLT_ALGO_CONFIG_SPLITK_NUM) + ", workspace " +
           std::to_string(workspace_bytes) + " bytes";
  }

  static void run(cudaStream_t stream, const Plan* plan, const Operands& at, void* workspace) {
    const float one = 1.0F;
    const float beta = plan->product.accumulate ? 1.0F : 0.0F;
    point(plan->operation.get(), plan->product.epilogue, at.bias, at.aux);
    PENSTOCK_CUDA(cublasLtMatmul(plan->handle, plan->operation.get(), &one, at.b, plan->b.get(),
                                 at.a, plan->a.get(), &beta, at.c, plan->c.get(), at.c,
                                 plan->c.get(), &plan->algorithm, workspace, plan->workspace_bytes,
                                 stream));
  }
};

namespace {

void clear(cudaStream_t stream, void* c, size_t size_bytes) {
  PENSTOCK_CUDA(cudaMemsetAsync(c, 0, size_bytes, stream));
}

}  // namespace

CublasLt::CublasLt(CudaContext& context) : context_(context) {
  PENSTOCK_CUDA(cublasLtCreate(&handle_));
}

CublasLt::~CublasLt() {
  plans_.clear();
  (void)cublasLtDestroy(handle_);  // nothing can be thrown here
}

CublasLt::Plan& CublasLt::plan_of(const Product& product) {
  std::unique_ptr<Plan>& plan = plans_[product];
  if (plan == nullptr) {
    // The library chooses the algorithm by the number of multiprocessors, and the algorithm decides
    // the bits of the result. So `spare` is an option of the run, the same for every K, and does
    // not follow from the links that a rank has.
    const int spare = context_.spare_processors;
    const int processors =
        spare > 0 ? std::max(context_.properties.multiProcessorCount - spare, 1) : 0;
    plan = std::make_unique<Plan>(handle_, product, processors);
    context_.made(plan->choice());
  }
  return *plan;
}

bool CublasLt::supports(const Product& p) {
  if (p.batch * p.m * p.n * p.k == 0) return p.epilogue == Epilogue::None;
  return plan_of(p).supported;
}

void CublasLt::multiply(const Product& p, const Operands& at) {
  const int64_t elements = p.batch * p.m * p.n;
  if (elements == 0 || (p.k == 0 && p.accumulate)) return;
  if (p.k == 0) {
    context_.queue.call<&clear>(at.c, static_cast<size_t>(elements) * size_of(p.result_type));
    return;
  }
  const Plan& plan = plan_of(p);
  if (!plan.supported) {
    fail_resource("cuBLASLt has no algorithm for " + text(p) + " on " + context_.gpu() +
                  ": try --precision fp32, or a CUDA toolkit that knows this GPU");
  }
  if (!aligned(at.a) || !aligned(at.b) || !aligned(at.c) || !aligned(at.bias) || !aligned(at.aux)) {
    fail_internal(text(p) + " was given a tensor that does not start at a multiple of 16 bytes");
  }
  Tensor workspace;
  if (plan.workspace_bytes > 0) {
    workspace = context_.scratch({static_cast<int64_t>(plan.workspace_bytes)}, DType::U8);
  }
  context_.queue.call<&Plan::run>(&plan, at, workspace.raw());
}

}  // namespace penstock

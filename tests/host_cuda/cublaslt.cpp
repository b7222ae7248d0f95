// tests/host_cuda/cublaslt.cpp -- the part of cuBLASLt that Penstock calls: descriptors, the choice
// of an algorithm, and the product as a task of the stream. Products that the library's manual
// says it does not take are refused; PENSTOCK_HOST_CUBLASLT=plain refuses every epilogue, =none
// every product.
#include <cublasLt.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "tests/host_cuda/machine.h"
#include "tests/host_cuda/matmul.h"
#include "tests/host_cuda/memory.h"

namespace penstock::host_cuda {
namespace {

// What the opaque handles point to; `mark` tells one from another.
struct Layout {
  cudaDataType type = CUDA_R_32F;
  uint64_t rows = 0, columns = 0;
  int64_t ld = 0;
  int32_t order = CUBLASLT_ORDER_COL;
  int32_t batch = 1;
  int64_t batch_stride = 0;
};

struct Setup {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;
  int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N, transpose_c = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  int64_t bias_stride = 0;
  int32_t bias_type = -1;  // that of d
  void* aux = nullptr;
  int64_t aux_ld = 0, aux_stride = 0;
  int32_t aux_type = -1;
};

struct Preference {
  uint64_t workspace_bytes = 0;
  uint32_t alignment_a = 256, alignment_b = 256, alignment_c = 256, alignment_d = 256;
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint32_t search_mode = 0;
  float waves = 0;
};

// What cublasLtMatmulAlgo_t holds: what the choice took for granted.
struct Algorithm {
  uint64_t mark;
  uint64_t workspace_bytes;
  uint32_t alignment[4];
  uint64_t m, n, k;
};
constexpr uint64_t kMark = 0x50656e73746f636b;
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

std::optional<Element> element(int32_t type) {
  if (type == CUDA_R_32F) return Element::Float;
  if (type == CUDA_R_16BF) return Element::Bfloat16;
  return std::nullopt;
}

cublasStatus_t refused_product(const char* why) {
  std::fprintf(stderr, "host CUDA: cublasLtMatmul: %s\n", why);
  return CUBLAS_STATUS_INVALID_VALUE;
}

template <class T>
cublasStatus_t put_attribute(T& to, const void* from, size_t size_bytes) {
  if (from == nullptr || size_bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&to, from, sizeof(T));
  return CUBLAS_STATUS_SUCCESS;
}

Matrix matrix(const Layout& layout, Element type) {
  const bool by_columns = layout.order == CUBLASLT_ORDER_COL;
  return {type,
          static_cast<int64_t>(layout.rows),
          static_cast<int64_t>(layout.columns),
          by_columns ? 1 : layout.ld,
          by_columns ? layout.ld : 1,
          layout.batch_stride};
}

bool fits(const Layout& layout) {
  const bool by_columns = layout.order == CUBLASLT_ORDER_COL;
  const bool by_rows = layout.order == CUBLASLT_ORDER_ROW;
  const uint64_t least = by_columns ? layout.rows : layout.columns;
  return (by_columns || by_rows) && layout.ld >= static_cast<int64_t>(least) && layout.batch >= 1;
}

constexpr uint32_t kAuxBit = 128;
constexpr uint32_t kSums = CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB | 16;

bool uses_bias(uint32_t epilogue) {
  return (epilogue & (CUBLASLT_EPILOGUE_BIAS | kSums)) != 0;
}
bool uses_aux(uint32_t epilogue) {
  return (epilogue & kAuxBit) != 0;
}
bool masks_relu(uint32_t epilogue) {
  return uses_aux(epilogue) && (epilogue & (CUBLASLT_EPILOGUE_RELU | 8)) != 0;
}

// The product that the descriptors describe, without its data; what it cannot be goes to `status`.
struct Description {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  Matmul product;
};

cublasStatus_t check_epilogue(const Setup& operation, const Layout& d) {
  const uint32_t epilogue = operation.epilogue;
  if (epilogue == CUBLASLT_EPILOGUE_DEFAULT) return CUBLAS_STATUS_SUCCESS;
  if (d.order == CUBLASLT_ORDER_ROW) return CUBLAS_STATUS_NOT_SUPPORTED;
  if ((epilogue & kSums) != 0 && d.batch > 1) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (uses_aux(epilogue)) {
    const int64_t unit = masks_relu(epilogue) ? 128 : 8;
    if (operation.aux_ld < static_cast<int64_t>(d.rows)) return CUBLAS_STATUS_INVALID_VALUE;
    if (operation.aux_ld % unit != 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (operation.aux_stride % unit != 0) return CUBLAS_STATUS_INVALID_VALUE;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t check_types(const Setup& operation, const Layout& a, const Layout& b,
                           const Layout& c, const Layout& d) {
  const bool float_sums =
      operation.compute == CUBLAS_COMPUTE_32F || operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  if (!float_sums || operation.scale != CUDA_R_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (operation.pointer_mode != CUBLASLT_POINTER_MODE_HOST) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (operation.transpose_c != CUBLAS_OP_N) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (a.type != b.type || c.type != d.type) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool floats = a.type == CUDA_R_32F && d.type == CUDA_R_32F;
  const bool narrow = a.type == CUDA_R_16BF && element(d.type).has_value();
  return floats || narrow ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t check_shapes(const Matmul& p, const Layout& a, const Layout& b, const Layout& c,
                            const Layout& d) {
  if (!fits(a) || !fits(b) || !fits(c) || !fits(d)) return CUBLAS_STATUS_INVALID_VALUE;
  const bool inner = p.a.columns == p.b.rows && p.a.columns > 0;
  const bool outer = p.a.rows == p.d.rows && p.b.columns == p.d.columns && p.d.rows > 0 &&
                     p.d.columns > 0 && p.c.rows == p.d.rows && p.c.columns == p.d.columns;
  const bool batches = a.batch == d.batch && b.batch == d.batch && c.batch == d.batch;
  return inner && outer && batches ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

Description product_of(const Setup& operation, const Layout& a, const Layout& b, const Layout& c,
                       const Layout& d) {
  Description made;
  made.status = check_types(operation, a, b, c, d);
  if (made.status != CUBLAS_STATUS_SUCCESS) return made;
  Matmul& p = made.product;
  const Element operand = *element(a.type), result = *element(d.type);
  p.a = matrix(a, operand);
  p.b = matrix(b, operand);
  p.c = matrix(c, result);
  p.d = matrix(d, result);
  if (operation.transpose_a != CUBLAS_OP_N) p.a = p.a.transposed();
  if (operation.transpose_b != CUBLAS_OP_N) p.b = p.b.transposed();
  p.batch = d.batch;
  p.epilogue = operation.epilogue;
  p.bias = {operation.bias, operation.bias_type < 0 ? result : *element(operation.bias_type),
            operation.bias_stride};
  p.aux = {operation.aux, operation.aux_type < 0 ? result : *element(operation.aux_type),
           operation.aux_stride};
  p.aux_ld = operation.aux_ld;
  p.tf32 = operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  made.status = check_shapes(p, a, b, c, d);
  if (made.status == CUBLAS_STATUS_SUCCESS) made.status = check_epilogue(operation, d);
  return made;
}

bool told_to_refuse_fusions(uint32_t epilogue) {
  const char* told = std::getenv("PENSTOCK_HOST_CUBLASLT");
  if (told == nullptr) return false;
  const std::string_view what = told;
  return what == "none" || (what == "plain" && epilogue != CUBLASLT_EPILOGUE_DEFAULT);
}

// Long sums are split when there is room for the parts, and they may be kept in that type.
uint64_t workspace_for(const Matmul& p, const Preference& preference) {
  const auto elements = static_cast<uint64_t>(p.d.rows * p.d.columns * p.batch);
  const bool is_long = p.a.columns >= 4 * std::max(p.d.rows, p.d.columns);
  const uint64_t bytes = elements * sizeof(float) * 2;
  const bool allowed = (preference.reductions & CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) != 0;
  return is_long && allowed && bytes <= preference.workspace_bytes ? bytes : 0;
}

bool aligned(const void* address, uint32_t alignment) {
  return reinterpret_cast<uintptr_t>(address) % alignment == 0;
}

cublasStatus_t check_data(const Matmul& p, const Algorithm& algorithm) {
  const bool taken_for_granted =
      aligned(p.a_data, algorithm.alignment[0]) && aligned(p.b_data, algorithm.alignment[1]) &&
      aligned(p.c_data, algorithm.alignment[2]) && aligned(p.d_data, algorithm.alignment[3]);
  if (!taken_for_granted) return refused_product("an operand is aligned less than was preferred");
  const auto within = [&](const Matrix& m, const void* data) {
    return holds(Place::Device, data, m.extent(p.batch));
  };
  if (!within(p.a, p.a_data) || !within(p.b, p.b_data) || !within(p.d, p.d_data) ||
      (p.beta != 0 && !within(p.c, p.c_data))) {
    return refused_product("an operand is not in device memory, or goes beyond it");
  }
  if (uses_bias(p.epilogue)) {
    const bool along_columns = (p.epilogue & CUBLASLT_EPILOGUE_BGRADB) != 0;
    const int64_t count = along_columns ? p.d.columns : p.d.rows;
    const int64_t all = count + (p.batch - 1) * p.bias.by_batch;
    const size_t bytes = static_cast<size_t>(all) * size_of(p.bias.type);
    if (!holds(Place::Device, p.bias.data, bytes))
      return refused_product("a bias beyond device memory");
  }
  if (uses_aux(p.epilogue)) {
    const int64_t all = (p.d.columns - 1) * p.aux_ld + p.d.rows + (p.batch - 1) * p.aux.by_batch;
    const size_t bytes = masks_relu(p.epilogue) ? static_cast<size_t>(all + 7) / 8
                                                : static_cast<size_t>(all) * size_of(p.aux.type);
    if (!holds(Place::Device, p.aux.data, bytes))
      return refused_product("an aux beyond device memory");
    if (!aligned(p.aux.data, 16)) return refused_product("an aux that is not aligned");
  }
  if (algorithm.workspace_bytes > p.workspace_bytes ||
      (algorithm.workspace_bytes > 0 &&
       !holds(Place::Device, p.workspace, algorithm.workspace_bytes))) {
    return refused_product("less workspace than the algorithm needs");
  }
  return CUBLAS_STATUS_SUCCESS;
}

Setup& opened(cublasLtMatmulDesc_t handle) {
  return *reinterpret_cast<Setup*>(handle);
}
Layout& opened(cublasLtMatrixLayout_t handle) {
  return *reinterpret_cast<Layout*>(handle);
}

}  // namespace
}  // namespace penstock::host_cuda

using namespace penstock::host_cuda;  // NOLINT(google-build-using-namespace): the API is below

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new char);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<char*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion() {
  return CUBLAS_VERSION;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t ld) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{.type = type, .rows = rows, .columns = columns, .ld = ld});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete reinterpret_cast<Layout*>(layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t handle,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* from, size_t size_bytes) {
  Layout& layout = opened(handle);
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return put_attribute(layout.order, from, size_bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return put_attribute(layout.ld, from, size_bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return put_attribute(layout.batch, from, size_bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return put_attribute(layout.batch_stride, from, size_bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation,
                                        cublasComputeType_t compute, cudaDataType_t scale) {
  *operation =
      reinterpret_cast<cublasLtMatmulDesc_t>(new Setup{.compute = compute, .scale = scale});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  delete reinterpret_cast<Setup*>(operation);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* from, size_t size_bytes) {
  Setup& operation = opened(handle);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return put_attribute(operation.pointer_mode, from, size_bytes);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return put_attribute(operation.transpose_a, from, size_bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return put_attribute(operation.transpose_b, from, size_bytes);
    case CUBLASLT_MATMUL_DESC_TRANSC:
      return put_attribute(operation.transpose_c, from, size_bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return put_attribute(operation.epilogue, from, size_bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return put_attribute(operation.bias, from, size_bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
      return put_attribute(operation.bias_stride, from, size_bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return put_attribute(operation.bias_type, from, size_bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return put_attribute(operation.aux, from, size_bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return put_attribute(operation.aux_ld, from, size_bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE:
      return put_attribute(operation.aux_stride, from, size_bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE:
      return put_attribute(operation.aux_type, from, size_bytes);
    case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET: {
      int32_t processors = 0;
      const cublasStatus_t status = put_attribute(processors, from, size_bytes);
      const bool possible = processors >= 0 && processors <= kProcessors;
      return status == CUBLAS_STATUS_SUCCESS && !possible ? CUBLAS_STATUS_INVALID_VALUE : status;
    }
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Preference*>(preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t handle,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* from, size_t size_bytes) {
  auto& preference = *reinterpret_cast<Preference*>(handle);
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_SEARCH_MODE:
      return put_attribute(preference.search_mode, from, size_bytes);
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return put_attribute(preference.workspace_bytes, from, size_bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return put_attribute(preference.reductions, from, size_bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return put_attribute(preference.alignment_a, from, size_bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return put_attribute(preference.alignment_b, from, size_bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return put_attribute(preference.alignment_c, from, size_bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return put_attribute(preference.alignment_d, from, size_bytes);
    case CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT:
      return put_attribute(preference.waves, from, size_bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t /*handle*/,
                                              cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t wanted, int most,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* count) {
  *count = 0;
  if (most < 1) return CUBLAS_STATUS_INVALID_VALUE;
  const auto [status, product] =
      product_of(opened(operation), opened(a), opened(b), opened(c), opened(d));
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (told_to_refuse_fusions(product.epilogue)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto& preference = *reinterpret_cast<const Preference*>(wanted);
  const Algorithm algorithm{kMark,
                            workspace_for(product, preference),
                            {preference.alignment_a, preference.alignment_b, preference.alignment_c,
                             preference.alignment_d},
                            static_cast<uint64_t>(product.d.rows),
                            static_cast<uint64_t>(product.d.columns),
                            static_cast<uint64_t>(product.a.columns)};
  results[0] = {};
  std::memcpy(&results[0].algo, &algorithm, sizeof(algorithm));
  results[0].workspaceSize = algorithm.workspace_bytes;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

// One algorithm, which is configured in no way.
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(
    const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulAlgoConfigAttributes_t /*attribute*/,
    void* value, size_t size_bytes, size_t* written) {
  if (algorithm == nullptr || size_bytes != sizeof(int32_t)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memset(value, 0, size_bytes);
  if (written != nullptr) *written = size_bytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t operation,
                              const void* alpha, const void* a_data, cublasLtMatrixLayout_t a,
                              const void* b_data, cublasLtMatrixLayout_t b, const void* beta,
                              const void* c_data, cublasLtMatrixLayout_t c, void* d_data,
                              cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t* chosen,
                              void* workspace, size_t workspace_bytes, cudaStream_t stream) {
  PENSTOCK_HOST_CUDA_LOCK;
  auto [status, product] =
      product_of(opened(operation), opened(a), opened(b), opened(c), opened(d));
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (chosen == nullptr)
    return refused_product("no algorithm was chosen: the choice would be timed");
  Algorithm algorithm{};
  std::memcpy(&algorithm, chosen, sizeof(algorithm));
  const bool for_this = algorithm.mark == kMark &&
                        algorithm.m == static_cast<uint64_t>(product.d.rows) &&
                        algorithm.n == static_cast<uint64_t>(product.d.columns) &&
                        algorithm.k == static_cast<uint64_t>(product.a.columns);
  if (!for_this) return refused_product("the algorithm was chosen for another product");
  product.a_data = a_data;
  product.b_data = b_data;
  product.c_data = c_data;
  product.d_data = d_data;
  product.alpha = *static_cast<const float*>(alpha);
  product.beta = *static_cast<const float*>(beta);
  product.workspace = workspace;
  product.workspace_bytes = workspace_bytes;
  if (const cublasStatus_t bad = check_data(product, algorithm); bad != CUBLAS_STATUS_SUCCESS) {
    return bad;
  }
  product.workspace_bytes = algorithm.workspace_bytes;
  const cudaError_t put = submit(stream, at_once([product = product] { multiply(product); }));
  return put == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    default:
      return "CUBLAS_STATUS_UNKNOWN";
  }
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "success" : "failed in the host emulation";
}

}  // extern "C"

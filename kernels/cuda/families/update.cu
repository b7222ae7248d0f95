// kernels/cuda/families/update.cu -- optimizer arithmetic on lists of tensors: one launch for a
// list, one pass, bound by memory. A list of one tensor needs no table: it travels with the launch.
#include <cmath>

#include "kernels/checks.h"
#include "kernels/cuda/loops/reduce.h"
#include "kernels/cuda/loops/vector.h"
#include "kernels/cuda/queue/launch.h"
#include "kernels/cuda/queue/tensor_table.h"

namespace penstock {
namespace {

constexpr int kUpdateThreads = 256;
constexpr int kWide = 4;

// A Rule changes one weight and its state. It has these members:
//   static constexpr bool kFirst, kSecond;  // which of the two states the rule has
//   void operator()(float& w, float& first, float& second, float g, float weight_decay) const;
struct Sgd {
  static constexpr bool kFirst = true, kSecond = false;
  float learning_rate, momentum, scale;
  float ahead, inertia;  // how much the gradient and the velocity move the weight
  __device__ void operator()(float& w, float& velocity, float& /*second*/, float g,
                             float weight_decay) const {
    const float gradient = scale * g + weight_decay * w;
    velocity = momentum * velocity + gradient;
    w -= learning_rate * (ahead * gradient + inertia * velocity);
  }
};
struct PlainSgd {
  static constexpr bool kFirst = false, kSecond = false;
  float learning_rate, scale;
  __device__ void operator()(float& w, float& /*first*/, float& /*second*/, float g,
                             float weight_decay) const {
    w -= learning_rate * (scale * g + weight_decay * w);
  }
};

template <bool kMoment>
struct RmsProp {
  static constexpr bool kFirst = true, kSecond = kMoment;
  float learning_rate, decay, momentum, epsilon, scale;
  __device__ void operator()(float& w, float& square, float& moment, float g,
                             float weight_decay) const {
    const float gradient = scale * g + weight_decay * w;
    square = decay * square + (1.0F - decay) * gradient * gradient;
    const float change = learning_rate * gradient / sqrtf(square + epsilon);
    moment = kMoment ? momentum * moment + change : change;
    w -= moment;
  }
};

struct Adam {
  static constexpr bool kFirst = true, kSecond = true;
  float learning_rate, beta1, beta2, epsilon, scale;
  float m_correction, v_correction;
  float coupled, decoupled;  // factors of the weight decay: 1 and 0, or 0 and the learning rate
  __device__ void operator()(float& w, float& m, float& v, float g, float weight_decay) const {
    const float gradient = scale * g + coupled * weight_decay * w;
    m = beta1 * m + (1.0F - beta1) * gradient;
    v = beta2 * v + (1.0F - beta2) * gradient * gradient;
    const float spread = sqrtf(v * v_correction) + epsilon;
    w -= decoupled * weight_decay * w + learning_rate * (m * m_correction) / spread;
  }
};

struct Lion {
  static constexpr bool kFirst = true, kSecond = false;
  float learning_rate, beta1, beta2, scale;
  __device__ void operator()(float& w, float& mean, float& /*second*/, float g,
                             float weight_decay) const {
    const float gradient = scale * g;
    const float wanted = beta1 * mean + (1.0F - beta1) * gradient;
    const float sign = (wanted > 0.0F ? 1.0F : 0.0F) - (wanted < 0.0F ? 1.0F : 0.0F);
    mean = beta2 * mean + (1.0F - beta2) * gradient;
    w -= learning_rate * (sign + weight_decay * w);
  }
};

struct Average {  // `average` stands for the weight, `w` for its gradient
  static constexpr bool kFirst = false, kSecond = false;
  float decay;
  __device__ void operator()(float& average, float& /*first*/, float& /*second*/, float w,
                             float /*weight_decay*/) const {
    average = decay * average + (1.0F - decay) * w;
  }
};

template <int N, class Rule>
__device__ void update_at(const TensorRow& row, int64_t i, const Rule& rule) {
  Floats<N> w = load<N>(row.weight + i);
  Floats<N> first{};
  Floats<N> second{};
  const Floats<N> g = load<N>(row.gradient + i);
  if constexpr (Rule::kFirst) first = load<N>(row.first + i);
  if constexpr (Rule::kSecond) second = load<N>(row.second + i);
  for (int k = 0; k < N; ++k) rule(w[k], first[k], second[k], g[k], row.weight_decay);
  store<N>(row.weight + i, w);
  if constexpr (Rule::kFirst) store<N>(row.first + i, first);
  if constexpr (Rule::kSecond) store<N>(row.second + i, second);
}

template <class Rule>
__device__ void update_piece(const TensorRow& row, int64_t piece, const Rule& rule) {
  const int64_t begin = piece * kPiece;
  const int64_t end = begin + kPiece < row.elements ? begin + kPiece : row.elements;
  const auto thread = static_cast<int64_t>(threadIdx.x);
  int64_t done = begin;
  if (row.aligned != 0) {
    done = end - (end - begin) % kWide;
    for (int64_t i = begin + thread * kWide; i < done; i += kUpdateThreads * kWide) {
      update_at<kWide>(row, i, rule);
    }
  }
  for (int64_t i = done + thread; i < end; i += kUpdateThreads) update_at<1>(row, i, rule);
}

template <class Rule>
__global__ void __launch_bounds__(kUpdateThreads)
    update_list_kernel(const TensorRow* rows, const Piece* pieces, Rule rule) {
  const Piece piece = pieces[blockIdx.x];
  update_piece(rows[piece.row], piece.piece, rule);
}
template <class Rule>
__global__ void __launch_bounds__(kUpdateThreads) update_one_kernel(TensorRow row, Rule rule) {
  update_piece(row, blockIdx.x, rule);
}

// Writes the sum of squares of a piece. Each thread adds every kUpdateThreads-th group of four from
// its own on, a tree adds the threads of a warp, and then the warps are added in turn.
__device__ void square_piece(double* partial, const TensorRow& row, int64_t piece) {
  __shared__ double parts[kUpdateThreads / kWarp];
  const int64_t begin = piece * kPiece;
  const int64_t end = begin + kPiece < row.elements ? begin + kPiece : row.elements;
  double sum = 0.0;
  for (int64_t i = begin + static_cast<int64_t>(threadIdx.x) * kWide; i < end;
       i += kUpdateThreads * kWide) {
    Floats<kWide> x{};
    if (i + kWide <= end && row.aligned != 0) {
      x = load<kWide>(row.gradient + i);
    } else {
      for (int k = 0; k < kWide && i + k < end; ++k) x[k] = row.gradient[i + k];
    }
    for (int k = 0; k < kWide; ++k) sum += static_cast<double>(x[k]) * static_cast<double>(x[k]);
  }
  sum = row_reduce<kUpdateThreads>(sum, parts, Plus{});
  if (threadIdx.x == 0) partial[row.first_piece + piece] = sum;
}

__global__ void __launch_bounds__(kUpdateThreads)
    square_list_kernel(double* partial, const TensorRow* rows, const Piece* pieces) {
  const Piece piece = pieces[blockIdx.x];
  square_piece(partial, rows[piece.row], piece.piece);
}
__global__ void __launch_bounds__(kUpdateThreads)
    square_one_kernel(double* partial, TensorRow row) {
  square_piece(partial, row, blockIdx.x);
}

// Returns the norm of a tensor from the sums of squares of its pieces. Every block of threads adds
// up all these sums, in the same order.
__device__ double norm_of(const double* squares, int64_t count) {
  __shared__ double parts[kUpdateThreads / kWarp];
  double sum = 0.0;
  for (int64_t i = threadIdx.x; i < count; i += kUpdateThreads) sum += squares[i];
  return sqrt(row_reduce<kUpdateThreads>(sum, parts, Plus{}));
}

// Calls f(i) for this thread's share of the elements of the block's piece.
template <class F>
__device__ void for_piece(int64_t elements, const F& f) {
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * kPiece;
  const int64_t end = begin + kPiece < elements ? begin + kPiece : elements;
  for (int64_t i = begin + threadIdx.x; i < end; i += kUpdateThreads) f(i);
}

__global__ void __launch_bounds__(kUpdateThreads)
    divide_by_norm_kernel(float* x, int64_t elements, const double* squares, int64_t count,
                          float least) {
  const double norm = norm_of(squares, count);
  const auto factor = static_cast<float>(1.0 / fmax(norm, static_cast<double>(least)));
  for_piece(elements, [=](int64_t i) { x[i] *= factor; });
}

// Computes the change of a matrix of `width` columns, or of a vector, for which `columns` and
// `mean` are null.
__global__ void __launch_bounds__(kUpdateThreads)
    adafactor_change_kernel(float* change, const float* gradient, const float* rows,
                            const float* columns, const float* mean, int64_t width,
                            int64_t elements, float scale) {
  const float spread = mean == nullptr ? 1.0F : 1.0F / fmaxf(*mean, kAdafactorLeast);
  for_piece(elements, [=](int64_t i) {
    const float column = columns == nullptr ? 1.0F : columns[i % width];
    const float moment =
        fmaxf(rows[i / width] * column * spread, kAdafactorLeast * kAdafactorLeast);
    change[i] = scale * gradient[i] / sqrtf(moment);
  });
}

__global__ void __launch_bounds__(kUpdateThreads)
    adafactor_move_kernel(float* weight, const float* change, const double* weight_squares,
                          const double* change_squares, int64_t count, int64_t elements,
                          AdafactorMove move) {
  const double root = sqrt(static_cast<double>(elements));
  const double size = norm_of(weight_squares, count) / root;
  const double change_size = norm_of(change_squares, count) / root;
  const auto factor =
      static_cast<float>(move.rate * fmax(kAdafactorLeastSize, size) / fmax(1.0, change_size));
  const float shrink = move.learning_rate * move.weight_decay;
  for_piece(elements, [=](int64_t i) { weight[i] -= shrink * weight[i] + factor * change[i]; });
}

LaunchShape blocks(int64_t count) {
  return {.grid = {static_cast<uint32_t>(count)}, .block = {kUpdateThreads}};
}

float* address(const Tensor& t) {
  return t ? t.data<float>() : nullptr;
}

// Returns the row of the table for these tensors, in which the pointer to an empty tensor is null.
// Refuses tensors that differ in size or type.
TensorRow row_of(const char* op, const Tensor& weight, const Tensor& first, const Tensor& second,
                 const Tensor& gradient, float weight_decay) {
  TensorRow row;
  for (const Tensor* t : {&weight, &first, &second, &gradient}) {
    if (*t) require_alike(op, gradient, *t);
  }
  row.weight = address(weight);
  row.first = address(first);
  row.second = address(second);
  row.gradient = gradient.data<float>();
  row.elements = gradient.elements();
  row.weight_decay = weight_decay;
  const bool aligned = is_aligned<kWide>(row.weight) && is_aligned<kWide>(row.first) &&
                       is_aligned<kWide>(row.second) && is_aligned<kWide>(row.gradient);
  row.aligned = aligned ? 1 : 0;
  return row;
}

class CudaUpdate final : public UpdateOps {
 public:
  explicit CudaUpdate(CudaContext& context) : context_(context), tables_(context) {}

  void sgd(std::span<const SgdTensors> all, const SgdStep& step) override {
    if (all.empty()) return;
    const bool velocities = static_cast<bool>(all[0].velocity);
    if (!velocities && step.momentum != 0.0F) fail_internal("sgd with momentum needs a velocity");
    make_rows(all, [velocities](const SgdTensors& t) {
      require_some("sgd", t.velocity, velocities);
      return row_of("sgd", t.weight, t.velocity, {}, t.gradient, t.weight_decay);
    });
    if (!velocities) return update(PlainSgd{step.learning_rate, step.scale});
    update(Sgd{step.learning_rate, step.momentum, step.scale, step.nesterov ? 1.0F : 0.0F,
               step.nesterov ? step.momentum : 1.0F});
  }

  void rmsprop(std::span<const RmsPropTensors> all, const RmsPropStep& step) override {
    if (all.empty()) return;
    const bool moments = static_cast<bool>(all[0].moment);
    if (!moments && step.momentum != 0.0F) fail_internal("rmsprop with momentum needs a moment");
    make_rows(all, [moments](const RmsPropTensors& t) {
      require_some("rmsprop", t.square, true);
      require_some("rmsprop", t.moment, moments);
      return row_of("rmsprop", t.weight, t.square, t.moment, t.gradient, t.weight_decay);
    });
    const auto run = [&]<bool kMoment>() {
      update(RmsProp<kMoment>{step.learning_rate, step.decay, step.momentum, step.epsilon,
                              step.scale});
    };
    moments ? run.operator()<true>() : run.operator()<false>();
  }

  void adam(std::span<const AdamTensors> all, const AdamStep& step) override {
    if (all.empty()) return;
    make_rows(all, [](const AdamTensors& t) {
      require_some("adam", t.first, true);
      require_some("adam", t.second, true);
      return row_of("adam", t.weight, t.first, t.second, t.gradient, t.weight_decay);
    });
    const auto steps = static_cast<double>(step.step);
    const auto correction = [steps](float beta) {
      return static_cast<float>(1.0 / (1.0 - std::pow(double{beta}, steps)));
    };
    update(Adam{step.learning_rate, step.beta1, step.beta2, step.epsilon, step.scale,
                correction(step.beta1), correction(step.beta2), step.decoupled ? 0.0F : 1.0F,
                step.decoupled ? step.learning_rate : 0.0F});
  }

  void lion(std::span<const LionTensors> all, const LionStep& step) override {
    if (all.empty()) return;
    make_rows(all, [](const LionTensors& t) {
      require_some("lion", t.mean, true);
      return row_of("lion", t.weight, t.mean, {}, t.gradient, t.weight_decay);
    });
    update(Lion{step.learning_rate, step.beta1, step.beta2, step.scale});
  }

  void adafactor_change(Tensor& change, const Tensor& gradient, const Tensor& rows,
                        const Tensor& columns, const Tensor& mean, float scale) override {
    require_alike("adafactor", change, gradient);
    const int64_t width = columns ? columns.elements() : 1;
    require_elements("adafactor", gradient, rows.elements() * width);
    const int64_t pieces = squares_blocks(change.elements());
    if (pieces == 0) return;
    launch(context_.queue, &adafactor_change_kernel, blocks(pieces), change.data<float>(),
           gradient.data<const float>(), rows.data<const float>(),
           static_cast<const float*>(address(columns)), static_cast<const float*>(address(mean)),
           width, change.elements(), scale);
  }
  void adafactor_move(Tensor& weight, const Tensor& change, const Tensor& weight_squares,
                      const Tensor& change_squares, const AdafactorMove& move) override {
    require_alike("adafactor", weight, change);
    const int64_t pieces = squares_blocks(weight.elements());
    require_elements("adafactor", weight_squares, pieces);
    require_elements("adafactor", change_squares, pieces);
    if (pieces == 0) return;
    launch(context_.queue, &adafactor_move_kernel, blocks(pieces), weight.data<float>(),
           change.data<const float>(), weight_squares.data<const double>(),
           change_squares.data<const double>(), pieces, weight.elements(), move);
  }

  void moving_average(std::span<const AverageTensors> all, float decay) override {
    if (all.empty()) return;
    make_rows(all, [](const AverageTensors& t) {
      return row_of("moving_average", t.average, {}, {}, t.weight, 0.0F);
    });
    update(Average{decay});
  }

  void squares_by_block(Tensor& results, std::span<const Tensor> all) override {
    static_assert(kPiece == kSquaresBlock);
    make_rows(all, [](const Tensor& x) { return row_of("squares_by_block", {}, {}, {}, x, 0.0F); });
    int64_t pieces = 0;
    for (const TensorRow& row : rows_) pieces += row.pieces();
    require_elements("squares_by_block", results, pieces);
    if (pieces == 0) return;
    auto* to = results.data<double>();
    if (rows_.size() == 1) {
      return launch(context_.queue, &square_one_kernel, blocks(pieces), to, rows_[0]);
    }
    const TensorTable table = tables_.of(rows_);
    launch(context_.queue, &square_list_kernel, blocks(table.count), to, table.rows, table.pieces);
  }

  void divide_by_norm(Tensor& x, const Tensor& squares, float least) override {
    const int64_t pieces = squares_blocks(x.elements());
    require_elements("divide_by_norm", squares, pieces);
    if (pieces == 0) return;
    launch(context_.queue, &divide_by_norm_kernel, blocks(pieces), x.data<float>(), x.elements(),
           squares.data<const double>(), pieces, least);
  }

 private:
  static void require_some(const char* op, const Tensor& t, bool wanted) {
    if (static_cast<bool>(t) != wanted) {
      fail_internal(std::string(op) + ": state for some of its tensors only");
    }
  }
  template <class Tensors, class F>
  void make_rows(std::span<const Tensors> all, const F& row) {
    rows_.clear();
    for (const Tensors& tensors : all) rows_.push_back(row(tensors));
  }

  template <class Rule>
  void update(const Rule& rule) {
    if (rows_.size() == 1) {
      launch(context_.queue, &update_one_kernel<Rule>, blocks(rows_[0].pieces()), rows_[0], rule);
      return;
    }
    const TensorTable table = tables_.of(rows_);
    launch(context_.queue, &update_list_kernel<Rule>, blocks(table.count), table.rows, table.pieces,
           rule);
  }

  CudaContext& context_;
  TensorTables tables_;
  std::vector<TensorRow> rows_;  // rows of the current call; kept to reuse the memory
};

}  // namespace

std::unique_ptr<UpdateOps> cuda_update_ops(CudaContext& context) {
  return std::make_unique<CudaUpdate>(context);
}

}  // namespace penstock

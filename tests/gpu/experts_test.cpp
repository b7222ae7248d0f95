// Mixtures of experts on a GPU beside the CPU's.
#include "tests/gpu/compare.h"

namespace penstock {
namespace {

class GpuExperts : public GpuFloatTest {
 protected:
  DType type_ = GetParam();
  ExpertOps& gpu_ = gpu().experts();
  ExpertOps& cpu_ = cpu().experts();
};
PENSTOCK_FLOAT_TYPES(GpuExperts);

struct RoutingTwin {
  Twin chosen, order, places, offsets;
  [[nodiscard]] Routing on_gpu() const { return {chosen.gpu, order.gpu, places.gpu, offsets.gpu}; }
  [[nodiscard]] Routing on_cpu() const { return {chosen.cpu, order.cpu, places.cpu, offsets.cpu}; }
};
RoutingTwin empty_routing(int64_t rows, int64_t chosen, int64_t experts) {
  return {poisoned({rows, chosen}, DType::I32), poisoned({rows * chosen}, DType::I32),
          poisoned({rows * chosen}, DType::I32), poisoned({experts + 1}, DType::I32)};
}

struct Case {
  int64_t rows, chosen, experts, width, hidden;
};
// One row, more slots than a sorting block has threads, experts without rows, sides of tiles and
// one more, whole packs that end within a tile.
constexpr Case kCases[] = {{1, 1, 1, 1, 1},    {1, 2, 8, 5, 3},     {7, 3, 40, 33, 17},
                           {64, 2, 4, 64, 64}, {300, 2, 3, 65, 63}, {130, 8, 9, 16, 130},
                           {90, 2, 3, 104, 72}};

std::string what_of(const Case& c) {
  return std::to_string(c.rows) + " rows to " + std::to_string(c.chosen) + " of " +
         std::to_string(c.experts) + " experts";
}

TEST_P(GpuExperts, RouteAndDifferentiate) {
  if (type_ == DType::BF16) GTEST_SKIP() << "routers compute in fp32";
  for (const Case& c : kCases) {
    for (const auto score : {RouterScore::Softmax, RouterScore::Sigmoid}) {
      for (const bool normalised : {true, false}) {
        const bool grouped = c.experts == 8 || c.experts == 40;
        const Router router{.score = score,
                            .normalised = normalised,
                            .scale = 1.5F,
                            .groups = grouped ? 4 : 1,
                            .chosen_groups = grouped ? 3 : 1,
                            .balance = 0.3F,
                            .z = 0.1F};
        const RoutingTwin routing = empty_routing(c.rows, c.chosen, c.experts);
        // Halves, so that many are equal: of those the lower number is taken.
        std::vector<double> halves =
            values_of(cpu(), random({c.rows, c.experts}, DType::I32, 1, 0.0, 6.0).cpu);
        for (double& x : halves) x /= 2.0;
        const Twin logits = from_values(halves, {c.rows, c.experts}, DType::F32);
        Twin weights = poisoned({c.rows, c.chosen}, DType::F32);
        gpu_.route(routing.on_gpu(), weights.gpu, logits.gpu, {}, router);
        cpu_.route(routing.on_cpu(), weights.cpu, logits.cpu, {}, router);
        expect_close(routing.chosen, what_of(c));
        expect_close(routing.order, what_of(c));
        expect_close(routing.places, what_of(c));
        expect_close(routing.offsets, what_of(c));
        expect_close(weights, what_of(c));
        const Twin g = random({c.rows, c.chosen}, DType::F32, 2);
        Twin dlogits = poisoned({c.rows, c.experts}, DType::F32);
        gpu_.route_backward(dlogits.gpu, g.gpu, weights.gpu, logits.gpu, routing.on_gpu(), router);
        cpu_.route_backward(dlogits.cpu, g.cpu, weights.cpu, logits.cpu, routing.on_cpu(), router);
        expect_close(dlogits, what_of(c));
      }
    }
  }
}

TEST_P(GpuExperts, RouteByCorrectedScoresAndMoveTheCorrection) {
  if (type_ == DType::BF16) GTEST_SKIP() << "routers compute in fp32";
  for (const Case& c : kCases) {
    for (const auto score : {RouterScore::Softmax, RouterScore::Sigmoid}) {
      const bool grouped = c.experts % 4 == 0 && c.experts > 4;
      const Router router{
          .score = score, .groups = grouped ? 4 : 1, .chosen_groups = grouped ? 2 : 1};
      const RoutingTwin routing = empty_routing(c.rows, c.chosen, c.experts);
      const Twin logits = random({c.rows, c.experts}, DType::F32, 1);
      Twin correction = random({c.experts}, DType::F32, 2);
      Twin weights = poisoned({c.rows, c.chosen}, DType::F32);
      gpu_.route(routing.on_gpu(), weights.gpu, logits.gpu, correction.gpu, router);
      cpu_.route(routing.on_cpu(), weights.cpu, logits.cpu, correction.cpu, router);
      expect_close(routing.chosen, what_of(c));
      expect_close(weights, what_of(c));
      const Twin rows = random({c.experts}, DType::I32, 3, 0.0, 9.0);
      const Twin counts = from_values(values_of(cpu(), rows.cpu), {c.experts}, DType::F32);
      gpu_.balance(correction.gpu, counts.gpu, 0.25F);
      cpu_.balance(correction.cpu, counts.cpu, 0.25F);
      expect_close(correction, 0.0, what_of(c));
    }
  }
}

// A routing that both devices have, and its weights.
struct Routed {
  RoutingTwin routing;
  Twin weights;
};
Routed routed(const Case& c) {
  Routed made{empty_routing(c.rows, c.chosen, c.experts), poisoned({c.rows, c.chosen}, DType::F32)};
  const Twin logits = random({c.rows, c.experts}, DType::F32, 1);
  gpu().experts().route(made.routing.on_gpu(), made.weights.gpu, logits.gpu, {}, {});
  cpu().experts().route(made.routing.on_cpu(), made.weights.cpu, logits.cpu, {}, {});
  return made;
}

TEST_P(GpuExperts, MoveRows) {
  for (const Case& c : kCases) {
    const Routed r = routed(c);
    const Routing on_gpu = r.routing.on_gpu();
    const Routing on_cpu = r.routing.on_cpu();
    const Shape few = {c.rows, c.width};
    const Shape many = {c.rows * c.chosen, c.width};
    const Twin x = random(few, type_, 2);
    const Twin rows = random(many, type_, 3);
    Twin gathered = poisoned(many, type_);
    gpu_.gather(gathered.gpu, x.gpu, on_gpu);
    cpu_.gather(gathered.cpu, x.cpu, on_cpu);
    expect_close(gathered, 0.0, what_of(c));
    Twin dx = poisoned(few, type_);
    gpu_.gather_backward(dx.gpu, rows.gpu, on_gpu);
    cpu_.gather_backward(dx.cpu, rows.cpu, on_cpu);
    expect_close(dx, what_of(c));
    Twin y = poisoned(few, type_);
    gpu_.combine(y.gpu, rows.gpu, r.weights.gpu, on_gpu);
    cpu_.combine(y.cpu, rows.cpu, r.weights.cpu, on_cpu);
    expect_close(y, what_of(c));
    Twin drows = poisoned(many, type_);
    Twin dweights = poisoned({c.rows, c.chosen}, DType::F32);
    gpu_.combine_backward(drows.gpu, dweights.gpu, x.gpu, rows.gpu, r.weights.gpu, on_gpu);
    cpu_.combine_backward(drows.cpu, dweights.cpu, x.cpu, rows.cpu, r.weights.cpu, on_cpu);
    expect_close(drows, what_of(c));
    expect_close(dweights, what_of(c));
    Twin counts = random({c.experts}, DType::I32, 4, 0.0, 9.0);
    counts = from_values(values_of(cpu(), counts.cpu), {c.experts}, DType::F32);
    gpu_.count_slots(counts.gpu, on_gpu.offsets);
    cpu_.count_slots(counts.cpu, on_cpu.offsets);
    expect_close(counts, 0.0, what_of(c));
  }
}

TEST_P(GpuExperts, MultiplyEachExpertsRows) {
  for (const Case& c : kCases) {
    const Routed r = routed(c);
    const Twin& offsets = r.routing.offsets;
    const int64_t slots = c.rows * c.chosen;
    const Twin x = random({slots, c.width}, type_, 2);
    const Twin g = random({slots, c.hidden}, type_, 3);
    // Numbers that bf16 has, too, since a GPU rounds a weight to the type of the rows.
    const Twin exact = random({c.experts, c.hidden, c.width}, type_, 4);
    const Shape shape = {c.experts, c.hidden, c.width};
    const Twin value = from_values(values_of(cpu(), exact.cpu), shape, DType::F32);
    for (Weight of_gpu : {Weight(value.gpu), Weight(exact.gpu)}) {
      Weight of_cpu(value.cpu);
      Twin y = poisoned({slots, c.hidden}, type_);
      gpu_.grouped_forward(y.gpu, x.gpu, of_gpu, offsets.gpu);
      cpu_.grouped_forward(y.cpu, x.cpu, of_cpu, offsets.cpu);
      expect_close(y, what_of(c));
      Twin dx = poisoned({slots, c.width}, type_);
      gpu_.grouped_backward_input(dx.gpu, g.gpu, of_gpu, offsets.gpu);
      cpu_.grouped_backward_input(dx.cpu, g.cpu, of_cpu, offsets.cpu);
      expect_close(dx, what_of(c));
    }
    for (const bool accumulate : {false, true}) {
      Twin dw = accumulate ? random(shape, DType::F32, 5) : poisoned(shape, DType::F32);
      gpu_.grouped_backward_weight(dw.gpu, x.gpu, g.gpu, offsets.gpu, accumulate);
      cpu_.grouped_backward_weight(dw.cpu, x.cpu, g.cpu, offsets.cpu, accumulate);
      expect_close(dw, what_of(c));
    }
  }
}

// A row by itself, and among others that come before it and behind it in its expert's tile.
TEST_P(GpuExperts, ARowHasTheSameBitsInAnyCompany) {
  constexpr int64_t kCount = 70;
  constexpr int64_t kWidth = 72;
  const Twin x = random({kCount, kWidth}, type_, 1);
  const Twin value = random({2, kWidth, kWidth}, DType::F32, 2);
  Weight w(value.gpu);
  const auto products = [&](const Tensor& rows, int64_t of_first) {
    const auto count = static_cast<double>(rows.dim(0));
    const Twin offsets = from_values({0, static_cast<double>(of_first), count}, {3}, DType::I32);
    Twin y = poisoned(rows.shape(), type_);
    Twin dx = poisoned(rows.shape(), type_);
    gpu_.grouped_forward(y.gpu, rows, w, offsets.gpu);
    gpu_.grouped_backward_input(dx.gpu, rows, w, offsets.gpu);
    return std::pair(values_of(gpu(), y.gpu), values_of(gpu(), dx.gpu));
  };
  const auto all = products(x.gpu, 3);
  for (const int64_t row : {3, 20, 66, 67, 69}) {
    const auto alone = products(x.gpu.view(row * kWidth, {1, kWidth}), 0);
    const auto of_row = [&](const std::vector<double>& numbers) {
      return std::vector<double>(numbers.begin() + row * kWidth,
                                 numbers.begin() + (row + 1) * kWidth);
    };
    EXPECT_EQ(of_row(all.first), alone.first) << "row " << row;
    EXPECT_EQ(of_row(all.second), alone.second) << "row " << row;
  }
}

TEST_P(GpuExperts, AddBiases) {
  for (const Case& c : kCases) {
    const Routed r = routed(c);
    const Twin& offsets = r.routing.offsets;
    const Shape rows = {c.rows * c.chosen, c.hidden};
    const Twin bias = random({c.experts, c.hidden}, DType::F32, 2);
    Twin y = random(rows, type_, 3);
    gpu_.add_expert_bias(y.gpu, bias.gpu, offsets.gpu);
    cpu_.add_expert_bias(y.cpu, bias.cpu, offsets.cpu);
    expect_close(y, what_of(c));
    const Twin g = random(rows, type_, 4);
    Twin dbias = random({c.experts, c.hidden}, DType::F32, 5);
    gpu_.expert_bias_backward(dbias.gpu, g.gpu, offsets.gpu);
    cpu_.expert_bias_backward(dbias.cpu, g.cpu, offsets.cpu);
    expect_close(dbias, what_of(c));
  }
}

TEST_P(GpuExperts, GateRows) {
  for (const int64_t width : {1, 33, 300}) {
    const Twin x = random({6, width}, type_, 1);
    const Twin gate = random({6, 1}, type_, 2);
    const Twin g = random({6, width}, type_, 3);
    Twin y = poisoned({6, width}, type_);
    gpu_.gate_rows(y.gpu, x.gpu, gate.gpu);
    cpu_.gate_rows(y.cpu, x.cpu, gate.cpu);
    expect_close(y, "gated rows");
    Twin dx = poisoned({6, width}, type_);
    Twin dgate = poisoned({6, 1}, type_);
    gpu_.gate_rows_backward(dx.gpu, dgate.gpu, g.gpu, x.gpu, gate.gpu);
    cpu_.gate_rows_backward(dx.cpu, dgate.cpu, g.cpu, x.cpu, gate.cpu);
    expect_close(dx, "gradient of gated rows");
    expect_close(dgate, "gradient of gates");
  }
}

}  // namespace
}  // namespace penstock

// tests/host_cuda/attention_graphs.cpp -- fused attention as plain loops, at the seam where cuDNN's
// frontend stands (kernels/cuda/attention/attention_graphs.h). As picky as cuDNN about addresses,
// and as greedy for workspace as its deterministic backward on Hopper.
//
// PENSTOCK_HOST_CUDNN=none: no graph is supported. PENSTOCK_HOST_CUDNN_WORKSPACE=BYTES: that much
// is enough for a piece, so that calls of a test's size are cut.
#include "kernels/cuda/attention/attention_graphs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/error.h"
#include "kernels/philox.h"
#include "tests/host_cuda/element.h"
#include "tests/host_cuda/machine.h"
#include "tests/host_cuda/memory.h"

namespace penstock {
namespace {

using host_cuda::Element;
using Row = std::vector<float>;
using Slot = AttentionSlot;

struct Call {
  AttentionExtents extents;
  float scale;
  AttentionAddresses addresses;

  [[nodiscard]] void* at(Slot slot) const { return addresses[static_cast<size_t>(slot)]; }
  static bool of_keys(Slot slot) {
    return slot == Slot::K || slot == Slot::V || slot == Slot::Dk || slot == Slot::Dv;
  }
  [[nodiscard]] int64_t positions(Slot slot) const {
    return of_keys(slot) ? extents.keys : extents.queries;
  }
  [[nodiscard]] int64_t heads(Slot slot) const {
    return of_keys(slot) ? extents.kv_heads : extents.heads;
  }
  // Elements between two positions.
  [[nodiscard]] int64_t width(Slot slot) const {
    return (of_keys(slot) ? extents.all_kv_heads : extents.all_heads) * extents.depth;
  }
  // Whether the graph takes a tensor in that slot.
  [[nodiscard]] bool wants(Slot slot, bool backward) const {
    switch (slot) {
      case Slot::QueryLengths:
      case Slot::KeyLengths:
        return extents.lengths;
      case Slot::Seed:
      case Slot::Offset:
        return extents.dropout > 0.0F;
      default:
        return backward || slot <= Slot::Logsumexp;
    }
  }
  // The bytes of a tensor from the first element of the graph to behind the last.
  [[nodiscard]] int64_t span_bytes(Slot slot) const {
    const AttentionExtents& e = extents;
    if (slot == Slot::Logsumexp) {
      return e.samples * e.heads * e.queries * int64_t{sizeof(float)};
    }
    if (slot == Slot::QueryLengths || slot == Slot::KeyLengths) {
      return e.samples * int64_t{sizeof(int32_t)};
    }
    if (slot == Slot::Seed || slot == Slot::Offset) return int64_t{sizeof(uint64_t)};
    return ((e.samples * positions(slot) - 1) * width(slot) + heads(slot) * e.depth) * 2;
  }
};

// A head of a sample: its rows, read as floats or rounded to bf16.
struct Head {
  const Call& call;
  int64_t sample, head;

  [[nodiscard]] int64_t kv_head() const {
    return head / (call.extents.heads / call.extents.kv_heads);
  }
  [[nodiscard]] int64_t first(Slot slot, int64_t position) const {
    return (sample * call.positions(slot) + position) * call.width(slot) +
           (Call::of_keys(slot) ? kv_head() : head) * call.extents.depth;
  }
  [[nodiscard]] Row row(Slot slot, int64_t position) const {
    Row values(static_cast<size_t>(call.extents.depth));
    for (size_t c = 0; c < values.size(); ++c) {
      values[c] = host_cuda::load(Element::Bfloat16, call.at(slot),
                                  first(slot, position) + static_cast<int64_t>(c));
    }
    return values;
  }
  [[nodiscard]] std::vector<Row> rows(Slot slot) const {
    std::vector<Row> all;
    for (int64_t i = 0; i < call.positions(slot); ++i) all.push_back(row(slot, i));
    return all;
  }
  void put(Slot slot, int64_t position, const Row& values) const {
    for (size_t c = 0; c < values.size(); ++c) {
      host_cuda::store(Element::Bfloat16, call.at(slot),
                       first(slot, position) + static_cast<int64_t>(c), values[c]);
    }
  }
  [[nodiscard]] float& logsumexp(int64_t query) const {
    const int64_t row = sample * call.extents.heads + head;
    return static_cast<float*>(call.at(Slot::Logsumexp))[row * call.extents.queries + query];
  }
  // The keys that the query sees: the first, and the one behind the last.
  [[nodiscard]] size_t end(int64_t query) const {
    int64_t all = call.extents.keys;
    if (call.extents.lengths) all = static_cast<const int32_t*>(call.at(Slot::KeyLengths))[sample];
    return static_cast<size_t>(call.extents.causal ? std::min(query + 1, all) : all);
  }
  [[nodiscard]] size_t begin(int64_t query) const {
    const int64_t window = call.extents.window;
    return static_cast<size_t>(window > 0 ? std::max<int64_t>(0, query + 1 - window) : 0);
  }
  // What dropout makes of the probability: 0, or 1 / (1 - dropout).
  [[nodiscard]] float kept(int64_t query, size_t key) const {
    const AttentionExtents& e = call.extents;
    if (e.dropout == 0.0F) return 1.0F;
    const auto word = [&](Slot slot) { return *static_cast<const uint64_t*>(call.at(slot)); };
    const RandomStream stream = random_stream(word(Slot::Seed), 1, word(Slot::Offset));
    const int64_t row = (sample * e.heads + head) * e.queries + query;
    const auto place = static_cast<uint64_t>(row * e.keys) + key;
    const float drawn = uniform_of(philox(stream, place / 4)[place % 4]);
    return drawn >= e.dropout ? 1.0F / (1.0F - e.dropout) : 0.0F;
  }
};

float dot(const Row& a, const Row& b) {
  float sum = 0.0F;
  for (size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

void add_scaled(Row& sums, float factor, const Row& row) {
  for (size_t c = 0; c < sums.size(); ++c) sums[c] += factor * row[c];
}

void compute_forward(const Head& head) {
  const std::vector<Row> k = head.rows(Slot::K);
  const std::vector<Row> v = head.rows(Slot::V);
  for (int64_t i = 0; i < head.call.extents.queries; ++i) {
    const Row q = head.row(Slot::Q, i);
    Row out(q.size());
    float top = -std::numeric_limits<float>::infinity();
    float sum = 0.0F;
    Row scores(k.size());
    for (size_t j = head.begin(i); j < head.end(i); ++j) {
      scores[j] = head.call.scale * dot(q, k[j]);
      top = std::max(top, scores[j]);
    }
    for (size_t j = head.begin(i); j < head.end(i); ++j) sum += std::exp(scores[j] - top);
    const float logsumexp = top + std::log(sum);
    for (size_t j = head.begin(i); j < head.end(i); ++j) {
      add_scaled(out, head.kept(i, j) * std::exp(scores[j] - logsumexp), v[j]);
    }
    head.put(Slot::Out, i, out);
    head.logsumexp(i) = logsumexp;
  }
}

// Adds to dk and dv: the heads of queries that ask one head of keys add up.
void add_backward(const Head& head, std::vector<Row>& dk, std::vector<Row>& dv) {
  const std::vector<Row> k = head.rows(Slot::K);
  const std::vector<Row> v = head.rows(Slot::V);
  for (int64_t i = 0; i < head.call.extents.queries; ++i) {
    const Row q = head.row(Slot::Q, i);
    const Row g = head.row(Slot::G, i);
    const float mean = dot(g, head.row(Slot::Out, i));
    Row dq(q.size());
    for (size_t j = head.begin(i); j < head.end(i); ++j) {
      const float p = std::exp(head.call.scale * dot(q, k[j]) - head.logsumexp(i));
      const float kept = head.kept(i, j);
      const float ds = head.call.scale * p * (kept * dot(g, v[j]) - mean);
      add_scaled(dv[j], kept * p, g);
      add_scaled(dk[j], ds, q);
      add_scaled(dq, ds, k[j]);
    }
    head.put(Slot::Dq, i, dq);
  }
}

void compute_backward(const Call& call, int64_t sample) {
  const AttentionExtents& e = call.extents;
  const int64_t group = e.heads / e.kv_heads;
  for (int64_t kv_head = 0; kv_head < e.kv_heads; ++kv_head) {
    std::vector<Row> dk(static_cast<size_t>(e.keys), Row(static_cast<size_t>(e.depth)));
    std::vector<Row> dv = dk;
    for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
      add_backward({call, sample, head}, dk, dv);
    }
    const Head any{call, sample, kv_head * group};
    for (size_t j = 0; j < dk.size(); ++j) {
      any.put(Slot::Dk, static_cast<int64_t>(j), dk[j]);
      any.put(Slot::Dv, static_cast<int64_t>(j), dv[j]);
    }
  }
}

class PlainGraph final : public AttentionGraph {
 public:
  PlainGraph(const AttentionExtents& extents, float scale, bool backward)
      : extents_(extents), scale_(scale), backward_(backward) {}

  [[nodiscard]] int64_t workspace_bytes() const override {
    return backward_ ? hopper_workspace_bytes(extents_) : 0;
  }

  void run(cudaStream_t stream, const AttentionAddresses& addresses,
           void* workspace) const override {
    PENSTOCK_HOST_CUDA_LOCK;
    const Call call{extents_, scale_, addresses};
    for (size_t at = 0; at < kAttentionSlots; ++at) {
      const auto slot = static_cast<Slot>(at);
      if (call.wants(slot, backward_)) expect(addresses[at], call.span_bytes(slot));
    }
    if (workspace_bytes() > 0) expect(workspace, workspace_bytes());
    const auto work = [call, workspace, bytes = workspace_bytes(), backward = backward_] {
      if (bytes > 0) std::memset(workspace, 0xff, static_cast<size_t>(bytes));
      for (int64_t sample = 0; sample < call.extents.samples; ++sample) {
        if (backward) {
          compute_backward(call, sample);
        } else {
          for (int64_t head = 0; head < call.extents.heads; ++head) {
            compute_forward({call, sample, head});
          }
        }
      }
    };
    if (host_cuda::submit(stream, host_cuda::at_once(work)) != cudaSuccess) {
      fail_internal("fused attention could not be submitted");
    }
  }

 private:
  static void expect(const void* address, int64_t size_bytes) {
    if (reinterpret_cast<uintptr_t>(address) % 16 != 0) {
      fail_internal("fused attention was given an address that is no multiple of 16");
    }
    if (!host_cuda::holds(host_cuda::Place::Device, address, static_cast<size_t>(size_bytes))) {
      fail_internal("fused attention was given a tensor of less than " +
                    std::to_string(size_bytes) + " bytes");
    }
  }

  AttentionExtents extents_;
  float scale_;
  bool backward_;
};

class PlainGraphs final : public AttentionGraphs {
 public:
  [[nodiscard]] std::unique_ptr<AttentionGraph> forward(const AttentionExtents& extents,
                                                        float scale) override {
    return made(extents, scale, false);
  }
  [[nodiscard]] std::unique_ptr<AttentionGraph> backward(const AttentionExtents& extents,
                                                         float scale) override {
    return made(extents, scale, true);
  }
  [[nodiscard]] AttentionLimits limits() const override {
    const char* told = std::getenv("PENSTOCK_HOST_CUDNN_WORKSPACE");
    if (told == nullptr) return {};
    return {.enough = std::strtoll(told, nullptr, 10)};
  }

 private:
  static std::unique_ptr<AttentionGraph> made(const AttentionExtents& extents, float scale,
                                              bool backward) {
    const char* told = std::getenv("PENSTOCK_HOST_CUDNN");
    if (told != nullptr && std::string_view(told) == "none") return nullptr;
    return std::make_unique<PlainGraph>(extents, scale, backward);
  }
};

}  // namespace

bool has_attention_graphs() {
  return true;
}
std::unique_ptr<AttentionGraphs> attention_graphs() {
  return std::make_unique<PlainGraphs>();
}

}  // namespace penstock

// Words one by one: what a position gives with the keys and values of those before it is what it
// gives in the whole row.
#include <cmath>
#include <memory>

#include "runtime/network/layers/library/loss.h"
#include "runtime/network/stage/stage.h"
#include "tests/unit/network/models/configs.h"

namespace penstock {
namespace {

using Ids = std::vector<int32_t>;
constexpr int64_t kRows = 3;
constexpr int64_t kContext = 7;
constexpr int32_t kWords = 13;

ModelConfig tiny(const std::string& kind) {
  ModelConfig config;
  config.kind = kind;
  config.layers = 2;
  config.width = 12;
  config.heads = 2;
  config.hidden = 18;
  config.context = kContext;
  config.vocabulary = kWords;
  config.dropout = 0.3;  // which must not show
  return config;
}

// A network as one stage, and the logits of its next words.
class Network {
 public:
  explicit Network(const ModelConfig& config)
      : device_(make_cpu_device(1)),
        model_(build_model(config, 0, 0)),
        stage_(model_.layers, RecomputeMode::None, 1, DType::F32, *device_, {.first = true}) {
    stage_.allocate(3);
  }

  // The logits of the last word of every row, from whole rows of so many positions; `decoding` may
  // be null.
  std::vector<std::vector<float>> whole(const std::vector<Ids>& rows, const Decoding* decoding,
                                        int64_t positions = kContext) {
    clear();
    const Shape shape = {kRows, positions};
    set("source_tokens", shape, padded(sources_, positions));
    set("source_lengths", {kRows}, lengths(sources_));
    set("tokens", shape, padded(rows, positions));
    set("target_tokens", shape, padded(rows, positions));
    set("labels", shape, Ids(static_cast<size_t>(shape.elements()), -1));
    set("starts", shape, Ids(static_cast<size_t>(shape.elements()), 0));
    run(decoding);
    std::vector<std::vector<float>> all;
    for (size_t r = 0; r < rows.size(); ++r) {
      all.push_back(at(static_cast<int64_t>(r) * positions + std::ssize(rows[r]) - 1));
    }
    return all;
  }
  // The same logits, from the last words alone.
  std::vector<std::vector<float>> one(const std::vector<Ids>& rows, Past& past) {
    clear();
    Ids last, positions, places;
    for (int32_t r = 0; r < kRows; ++r) {
      const Ids& row = rows[static_cast<size_t>(r)];
      last.push_back(row.back());
      positions.push_back(static_cast<int32_t>(row.size()) - 1);
      places.push_back(r * static_cast<int32_t>(kContext) + positions.back());
    }
    set("source_tokens", {kRows, 1}, Ids(kRows, 0));
    set("source_lengths", {kRows}, lengths(sources_));
    set("tokens", {kRows, 1}, last);
    set("target_tokens", {kRows, 1}, last);
    set("labels", {kRows, 1}, Ids(kRows, -1));
    set(kPositions, {kRows, 1}, positions);
    set(kSeen, {kRows}, lengths(rows));
    set(kPlaces, {kRows}, places);
    const Decoding decoding{&past, true, {}};
    run(&decoding);
    return {at(0), at(1), at(2)};
  }

  Device& device() { return *device_; }
  void set_sources(const std::vector<Ids>& sources) { sources_ = sources; }
  [[nodiscard]] int64_t past_bytes() const { return stage_.facts().past_bytes; }

 private:
  void clear() {
    names_.clear();
    fields_.clear();
  }
  static Ids padded(const std::vector<Ids>& rows, int64_t positions) {
    Ids all;
    for (const Ids& row : rows) {
      all.insert(all.end(), row.begin(), row.end());
      all.resize(all.size() + static_cast<size_t>(positions) - row.size(), 0);
    }
    return all;
  }
  static Ids lengths(const std::vector<Ids>& rows) {
    Ids all;
    for (const Ids& row : rows) all.push_back(static_cast<int32_t>(row.size()));
    return all;
  }
  void set(const std::string& name, const Shape& shape, const Ids& values) {
    Tensor tensor = device_->empty(shape, DType::I32, Purpose::Activations);
    std::copy(values.begin(), values.end(), tensor.data<int32_t>());
    names_.push_back(name);
    fields_.push_back(tensor);
  }
  void run(const Decoding* decoding) {
    const MicroBatch micro_batch{.pass = {.training = false, .logits = &keep_},
                                 .field_names = &names_,
                                 .fields = &fields_,
                                 .decoding = decoding};
    const size_t input = model_.inputs[0] == "tokens" ? 2 : 0;
    (void)stage_.forward(micro_batch, {fields_[input]}, false);
  }
  std::vector<float> at(int64_t row) {
    const auto values = logits_.span<float>();
    const auto first = values.begin() + row * kWords;
    return {first, first + kWords};
  }

  std::unique_ptr<Device> device_;
  Sequential model_;
  Stage stage_;
  std::vector<Ids> sources_ = {{4, 5, 3}, {6, 7, 8, 9, 3}, {1, 2, 3, 4, 5, 6, 3}};
  std::vector<std::string> names_;
  std::vector<Tensor> fields_;
  Tensor logits_;
  std::function<void(int, const Tensor&)> keep_ = [this](int, const Tensor& l) { logits_ = l; };
};

double distance(const std::vector<std::vector<float>>& a,
                const std::vector<std::vector<float>>& b) {
  double most = 0.0;
  for (size_t r = 0; r < a.size(); ++r) {
    for (size_t i = 0; i < a[r].size(); ++i) {
      most = std::max(most, std::abs(double{a[r][i]} - double{b[r][i]}));
    }
  }
  return most;
}

std::vector<Ids> start() {
  return {{1}, {2, 3, 4}, {5, 6}};
}
Decoding remember(Past& past, std::vector<int64_t> rows) {
  return {&past, false, std::move(rows)};
}

constexpr double kClose = 1e-5;

struct Case {
  const char* kind;
  const char* positions;
  bool other_families = false;  // what only some families of decoders have
  bool experts = false;         // mixtures of experts
  bool parallel = false;        // attention and feed-forward layers side by side
};

class Decoded : public testing::TestWithParam<Case> {
 protected:
  static ModelConfig config() {
    ModelConfig config = tiny(GetParam().kind);
    config.positions = GetParam().positions;
    if (config.kind != "decoder") return config;
    config.head_width = 6;
    config.kv_heads = 1;
    config.window = 3;
    config.window_layers = {1};
    config.norm = "rms";
    config.query_key_norm = config.gated = config.packed = true;
    if (GetParam().experts) {
      config.attention_sinks = true;
      config.activation = "silu";
      config.expert_gate_limit = 0.5;
      config.rotary_scaling = "yarn";
      config.rotary_factor = 4.0;
      config.rotary_truncate = false;
      config.experts = 4;
      config.shared_expert_width = 10;
      config.shared_expert_gate = true;
    }
    if (GetParam().parallel) {
      config.parallel_branches = config.shared_norm = true;
      config.norm = "layer";
      config.norm_bias = false;
      config.rotary_pairs = "neighbours";
      config.rotary_width = 4;
      config.rotary_layers = {1};
    }
    if (!GetParam().other_families) return config;
    config.norm_place = "both";
    config.query_key_norm_over = "projection";
    config.rotary_width = 4;
    config.rotary_layers = {1};
    config.window_rotary_base = 100.0;
    config.embedding_scale = 20.0;
    config.residual_scale = 0.6;
    config.attention_scale = 0.7;
    config.logit_scale = 0.8;
    config.norm_zero_centered = true;
    config.attention_softcap = 2.0;
    config.logit_softcap = 3.0;
    config.rotary_scaling = "yarn";
    config.rotary_factor = 4.0;
    return config;
  }
};

// Rows of different lengths, each a word longer every time, until the longest is full.
TEST_P(Decoded, PositionsGiveWhatWholeRowsGive) {
  Network network(config());
  Past past(kContext);
  std::vector<Ids> rows = start();
  const Decoding first = remember(past, {0, 1, 2});
  EXPECT_EQ(network.whole(rows, &first), network.whole(rows, nullptr))
      << "remembering costs no bit";
  for (int32_t word = 7; rows[1].size() < kContext; ++word) {
    for (Ids& row : rows) row.push_back(word);
    const auto expected = network.whole(rows, nullptr);
    EXPECT_LT(distance(network.one(rows, past), expected), kClose) << "word " << word;
  }
  // And it is the past that does it: of other rows it would be another answer.
  for (Ids& row : rows) row.pop_back();
  const auto last = network.one(rows, past);
  rows[0][0] = 12;
  EXPECT_GT(distance(network.whole(rows, nullptr), last), 1e-3);
}

// Rows may have fewer positions than the network sees: what stands behind them matters to nobody.
TEST_P(Decoded, ShortRowsGiveWhatLongOnesGiveAndAreRememberedAsWell) {
  Network network(config());
  network.set_sources({{4, 5, 3}, {6, 3}, {9, 8, 7, 3}});
  constexpr int64_t kShort = 4;
  Past past(kContext);
  std::vector<Ids> rows = start();
  const Decoding first = remember(past, {0, 1, 2});
  EXPECT_LT(distance(network.whole(rows, &first, kShort), network.whole(rows, nullptr)), kClose);
  for (int32_t word = 7; rows[1].size() < kContext; ++word) {
    for (Ids& row : rows) row.push_back(word);
    EXPECT_LT(distance(network.one(rows, past), network.whole(rows, nullptr)), kClose) << word;
  }
}

TEST_P(Decoded, RowsThatChangePlacesTakeTheirPastAlong) {
  Network network(config());
  const std::vector<Ids> source = {{4, 5, 3}, {4, 5, 3}, {9, 3}};
  network.set_sources(source);
  Past past(kContext);
  std::vector<Ids> rows = start();
  const Decoding first = remember(past, {0, 1, 2});
  (void)network.whole(rows, &first);
  // The third place goes on from the second row too: its source goes along.
  const std::vector<Past::Move> moves = {{1, 0}, {0, 1}, {1, 2}};
  past.move_rows(network.device(), moves, 0, kRows);
  network.set_sources({{4, 5, 3}, {4, 5, 3}, {4, 5, 3}});
  rows = {rows[1], rows[0], rows[1]};
  for (Ids& row : rows) row.push_back(8);
  EXPECT_LT(distance(network.one(rows, past), network.whole(rows, nullptr)), kClose);
}

TEST_P(Decoded, FreshRowsLeaveThePastOfOthersAlone) {
  Network network(config());
  Past past(kContext);
  std::vector<Ids> rows = start();
  const Decoding first = remember(past, {0, 1, 2});
  (void)network.whole(rows, &first);
  Past other(kContext);
  const Decoding second = remember(other, {0, 1, 2});
  (void)network.whole(rows, &second);
  const std::vector<Ids> instead = {{12, 11}, {9}, {10}};
  const Decoding fresh = remember(past, {1});
  (void)network.whole(instead, &fresh);
  rows[1] = instead[1];
  for (Ids& row : rows) row.push_back(8);
  const auto with_both = network.one(rows, past);
  EXPECT_LT(distance(with_both, network.whole(rows, nullptr)), kClose);
  const auto without = network.one(rows, other);
  EXPECT_LT(distance({with_both[0], with_both[2]}, {without[0], without[2]}), kClose);
  EXPECT_EQ(with_both[0], without[0]) << "to the last bit";
  EXPECT_EQ(with_both[2], without[2]);
  EXPECT_NE(with_both[1], without[1]);
}

TEST_P(Decoded, SaysWhatItKeeps) {
  ModelConfig small = config();
  small.heads = 4;
  // Keys and values of two layers; of a decoder's to the source as well, and 4 heads of 64 there.
  const bool translates = small.kind == std::string("transformer-nmt");
  const int64_t width = small.kind == std::string("decoder") ? 6 : 12;  // one head of four
  EXPECT_EQ(Network(small).past_bytes(), translates ? 2 * 2 * 2 * 256 * 4 : 2 * 2 * width * 4);
}

TEST_P(Decoded, RowsWithoutAPastAreRefused) {
  Network network(config());
  Past past(kContext);
  EXPECT_THROW((void)network.one(start(), past), Error);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Decoded,
    testing::Values(Case{"transformer-lm", "learned"}, Case{"transformer-lm", "sinusoidal"},
                    Case{"transformer-lm", "none"}, Case{"transformer-nmt", "sinusoidal"},
                    Case{"transformer-nmt", "learned"}, Case{"decoder", "rotary"},
                    Case{"decoder", "rotary", true}, Case{"decoder", "learned"},
                    Case{"decoder", "rotary", false, true},
                    Case{"decoder", "rotary", false, false, true}),
    [](const auto& one) {
      const std::string kind = one.param.kind;
      return kind.substr(kind.find('-') + 1) + "_" + one.param.positions +
             (one.param.other_families ? "_of_other_families" : "") +
             (one.param.experts ? "_of_experts" : "") + (one.param.parallel ? "_side_by_side" : "");
    });

}  // namespace
}  // namespace penstock

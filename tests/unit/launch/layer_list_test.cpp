// Networks given layer by layer, nested, and back.
#include "helpers.h"
#include "launch/program/options/layer_places.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kNetwork = R"([model]
kind = "sequential"
[[model.layers]]
kind = "conv"
channels = 16
kernel = [3, 3]
bias = false
[[model.layers]]
kind = "residual"
name = "first"
layers = [ { kind = "conv", channels = 16 }, { kind = "residual", layers = [ { kind = "relu" } ] } ]
shortcut = [ { kind = "conv", channels = 16, kernel = [1, 1] } ]
[[model.layers]]
kind = "dropout"
share = 0.1
mode = "a \"b\""
"odd key" = 1
)";

bool equal(const std::vector<LayerConfig>& a, const std::vector<LayerConfig>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].kind != b[i].kind || a[i].name != b[i].name || a[i].options != b[i].options ||
        !equal(a[i].layers, b[i].layers) || !equal(a[i].shortcut, b[i].shortcut)) {
      return false;
    }
  }
  return true;
}

TEST(LayerList, ReadsNestedLayersWithTheirPlaces) {
  const std::vector<LayerConfig> layers = parsed(kNetwork).config.model.sequence;
  ASSERT_EQ(layers.size(), 3U);
  EXPECT_EQ(layers[0].kind, "conv");
  EXPECT_EQ(layers[0].where, "run.toml:3");
  EXPECT_EQ(std::get<int64_t>(layers[0].options.at("channels")), 16);
  EXPECT_EQ(std::get<std::vector<int64_t>>(layers[0].options.at("kernel")),
            (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(std::get<bool>(layers[0].options.at("bias")), false);
  EXPECT_EQ(layers[1].name, "first");
  ASSERT_EQ(layers[1].layers.size(), 2U);
  EXPECT_EQ(layers[1].layers[0].where, "run.toml:11");
  EXPECT_EQ(layers[1].layers[1].layers.at(0).kind, "relu");
  EXPECT_EQ(layers[1].shortcut.at(0).kind, "conv");
  EXPECT_EQ(std::get<double>(layers[2].options.at("share")), 0.1);
}

TEST(LayerList, SurvivesARunFile) {
  const Config config = parsed(kNetwork).config;
  const Config back = parsed(write_run_file(config)).config;
  EXPECT_TRUE(equal(back.model.sequence, config.model.sequence)) << write_run_file(config);
  Config other = config;
  other.model.sequence[1].shortcut[0].options["channels"] = int64_t{17};
  EXPECT_FALSE(equal(other.model.sequence, config.model.sequence));
}

TEST(LayerList, PlacesSurviveARunFileInBetween) {
  const std::vector<LayerConfig> mine = parsed(kNetwork).config.model.sequence;
  std::vector<LayerConfig> shared =
      parsed(write_run_file(parsed(kNetwork).config)).config.model.sequence;
  EXPECT_NE(shared[2].where, mine[2].where);
  set_places(shared, places_of(mine));
  EXPECT_EQ(places_of(shared), places_of(mine));
  EXPECT_EQ(shared[2].where, mine[2].where);
  EXPECT_EQ(shared[1].layers[1].layers[0].where, mine[1].layers[1].layers[0].where);
  EXPECT_THROW(set_places(shared, "run.toml:1\n"), Error);
}

TEST(LayerList, BadEntriesNameLineAndKey) {
  const std::string head = "[model]\nkind = 'sequential'\n";
  EXPECT_EQ(parse_error(head + "[[model.layers]]\nwidth = 3\n"),
            "run.toml:3: layer model.layers[0] has no kind; add kind = \"linear\" or another");
  EXPECT_THAT(parse_error(head + "layers = [{ kind = 'relu' }, 3]\n"),
              StartsWith("run.toml:3: 'model.layers' must be a list of layers"));
  EXPECT_THAT(parse_error(head + "layers = [{ kind = 3 }]\n"),
              HasSubstr("'model.layers[0].kind' must be a text"));
  EXPECT_THAT(parse_error(head + "layers = [{ kind = 'residual', layers = 3 }]\n"),
              HasSubstr("'model.layers[0].layers' must be a list of layers"));
  EXPECT_THAT(parse_error(head + "layers = [{ kind = 'conv', kernel = [3, 'x'] }]\n"),
              HasSubstr("'model.layers[0].kernel' must be a list of integers"));
  EXPECT_THAT(parse_error(head + "layers = [{ kind = 'conv', a = { b = 1 } }]\n"),
              HasSubstr("'model.layers[0].a' must be true, false, a number"));
  EXPECT_THAT(parse_error("[model]\nlayers = 'x'\n"), HasSubstr("'model.layers' must be"));
}

}  // namespace
}  // namespace penstock

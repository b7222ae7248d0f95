// Parameter counts of image networks against the papers' and other frameworks' own.
#include "tests/unit/network/models/configs.h"

namespace penstock {
namespace {

ModelConfig amoebanet(const std::string& kind, const std::string& stem, int64_t layers,
                      int64_t filters) {
  ModelConfig config = amoebanet_config(kind, stem);
  config.layers = layers;
  config.filters = filters;
  config.image = {3, 224, 224};
  config.auxiliary_weight = 0.0;
  return config;
}

// GPipe, Table 1 and 2, to the last digit: 1000 classes with the wide stem, 1001 with the narrow
// one.
TEST(Counts, AmoebaNetsOfGpipesTables) {
  struct Row {
    int64_t layers, filters, wide, narrow, with_auxiliary_head;
  };
  for (const Row& row : {Row{18, 208, 81'505'540, 81'140'766, 81'785'166},
                         Row{18, 416, 319'024'120, 317'548'353, 318'277'617},
                         Row{18, 544, 542'734'840, 540'204'945, 540'986'433},
                         Row{36, 544, 1'055'832'376, 1'053'302'481, 1'054'083'969},
                         Row{72, 512, 1'844'858'344, 1'842'618'441, 1'843'386'873},
                         Row{18, 256, 122'470'120, 121'915'113, 122'579'097},
                         Row{18, 128, 31'694'440, 31'557'433, 32'169'193}}) {
    ModelConfig config = amoebanet("amoebanet-d", "wide", row.layers, row.filters);
    config.classes = 1000;
    EXPECT_EQ(count(config), row.wide) << row.layers << ", " << row.filters;
    config.stem = "auto";
    EXPECT_EQ(count(config), row.wide);
    config.stem = "narrow";
    config.classes = 1001;
    EXPECT_EQ(count(config), row.narrow) << row.layers << ", " << row.filters;
    config.auxiliary_weight = 0.4;
    EXPECT_EQ(count(config), row.with_auxiliary_head) << row.layers << ", " << row.filters;
  }
}

// The model of GPipe's ImageNet result: 557 million parameters, at 480 x 480.
TEST(Counts, AmoebaNetBOfGpipesImageNetResult) {
  ModelConfig config = amoebanet("amoebanet-b", "auto", 18, 512);
  config.image = {3, 480, 480};
  config.classes = 1001;
  EXPECT_EQ(count(config), 557'286'057);
}

// normal(f) = (c + q) f + 5.75 f^2 + 17 f; reduction(f) = (c + q) f + 3.4375 f^2 + 12.5 f.
TEST(Counts, AmoebaNetForSmallImagesByTheFormula) {
  constexpr int64_t kFilters = 32;
  int64_t expected = 27 * 3 * kFilters + 2 * 3 * kFilters;
  int64_t c = 3 * kFilters;
  int64_t q = c;
  const auto cell = [&](double f, double square, double linear, int64_t out) {
    expected += static_cast<int64_t>(static_cast<double>(c + q) * f + square * f * f + linear * f);
    q = c;
    c = out * static_cast<int64_t>(f);
  };
  for (int64_t f : {kFilters, 2 * kFilters, 4 * kFilters}) {
    const auto filters = static_cast<double>(f);
    if (f > kFilters) cell(filters, 3.4375, 12.5, 3);
    for (int i = 0; i < 2; ++i) cell(filters, 5.75, 17, 4);
  }
  expected += 16 * kFilters * 10 + 10;
  ModelConfig config = amoebanet("amoebanet-d", "small", 6, kFilters);
  config.image = {3, 32, 32};
  config.classes = 10;
  EXPECT_EQ(count(config), expected);
}

TEST(Counts, ResnetsAsInTorchvision) {
  const std::map<int64_t, int64_t> known = {
      {18, 11'689'512}, {34, 21'797'672}, {50, 25'557'032}, {101, 44'549'160}, {152, 60'192'808}};
  for (const auto& [depth, parameters] : known) {
    ModelConfig config = resnet_config("imagenet", depth);
    config.width = 0;
    config.image = {3, 224, 224};
    config.classes = 1000;
    EXPECT_EQ(count(config), parameters) << depth;
  }
}

// 6n + 2 layers of 16, 32 and 64 channels (He et al. 2016, 4.2), two 1x1 shortcuts.
TEST(Counts, ResnetsForCifarByTheFormula) {
  const auto conv = [](int64_t in, int64_t out, int64_t kernel) {
    return in * out * kernel * kernel + 2 * out;  // and its batch norm
  };
  for (int64_t n : {1, 3, 5, 18}) {
    int64_t expected = conv(3, 16, 3) + 64 * 10 + 10;
    for (int64_t width : {16, 32, 64}) {
      const int64_t in = width == 16 ? 16 : width / 2;
      expected += conv(in, width, 3) + (2 * n - 1) * conv(width, width, 3);
      if (in != width) expected += conv(in, width, 1);
    }
    ModelConfig config;
    config.kind = "resnet";
    config.depth = 6 * n + 2;
    EXPECT_EQ(count(config), expected) << n;
    if (n == 3) {
      EXPECT_EQ(expected, 272'474);
    }
  }
}

// Ronneberger et al. 2015: 64 to 1024 channels, here with batch norms in place of biases.
TEST(Counts, UNetByTheFormula) {
  int64_t expected = 64 * 10 + 10;
  const auto both = [](int64_t in, int64_t out) { return 9 * (in + out) * out + 4 * out; };
  int64_t in = 3;
  for (int64_t width : {64, 128, 256, 512, 1024}) {
    expected += both(in, width);
    if (width > 64) expected += 4 * width * width / 2 + both(width, width / 2);
    in = width;
  }
  ModelConfig config = unet_config();
  config.layers = 4;
  config.filters = 64;
  config.image = {3, 64, 64};
  config.classes = 10;
  EXPECT_EQ(count(config), expected);
}

// torchgpipe's benchmarks/unet-memory has 362.2 M, 2.21 B, 4.99 B, 7.80 B and 15.82 B. What it
// counts are its convolutions alone, `theirs` for one class: its norms have no parameters. Ours
// have two numbers a channel of each convolution, and a second class.
TEST(Counts, UNetsOfTorchgpipesTable) {
  struct Row {
    int64_t b, c, theirs, channels;
  };
  for (const Row& row : {Row{6, 72, 362'157'516, 32'760}, Row{11, 128, 2'213'834'176, 108'480},
                         Row{24, 128, 4'993'859'008, 239'104}, Row{24, 160, 7'802'903'600, 298'880},
                         Row{48, 160, 15'822'206'000, 600'320}}) {
    ModelConfig config = unet_config();
    config.form = "simplified";
    config.layers = 5;
    config.convolutions = row.b;
    config.filters = row.c;
    config.image = {3, 192, 192};
    config.classes = 2;
    config.per_pixel = true;
    EXPECT_EQ(count(config), row.theirs + row.c / 2 + 2 * row.channels) << row.b << ", " << row.c;
  }
}

TEST(Counts, Mlp) {
  EXPECT_EQ(count(mlp_config()), 12 * 16 + 16 + 16 * 8 + 8 + 8 * 5 + 5);
  ModelConfig config = mlp_config();
  config.input.clear();  // an image then; layers x hidden
  config.hidden_layers.clear();
  config.hidden = 6;
  config.layers = 3;
  config.bias = false;
  EXPECT_EQ(count(config), 3 * 32 * 32 * 6 + 2 * 6 * 6 + 6 * 5);
}

}  // namespace
}  // namespace penstock

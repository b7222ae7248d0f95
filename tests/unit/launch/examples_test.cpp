// The run files that are handed out: every key is known, the network they describe can be made and
// cut, and has as many parameters as they say.
#include <cmath>
#include <optional>
#include <regex>
#include <sstream>

#include "helpers.h"
#include "launch/program/options/readers.h"
#include "launch/program/sweep/points.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/planning/blueprint/blueprint.h"

namespace penstock {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The parameters of the whole network, cut into that many stages. Data are not here: AmoebaNet's
// has ten classes.
int64_t parameters_of(Config config, int stages) {
  constexpr int64_t kClasses = 10;
  config.pipeline.stages = stages;
  const Blueprint drawn =
      draw_up(config, built_in_models(), known_vocabulary(config.data), kClasses);
  EXPECT_EQ(drawn.layout.split().size(), static_cast<size_t>(stages));
  return drawn.layout.total_parameters();
}

// "0.27" of 0.2745 million: as many digits as are claimed.
void expect_claim(const std::string& text, const char* pattern, int64_t parameters,
                  const std::string& file) {
  std::smatch found;
  if (!std::regex_search(text, found, std::regex(pattern))) return;
  const std::string claim = found[1];
  const size_t point = claim.find('.');
  const int digits = point == std::string::npos ? 0 : static_cast<int>(claim.size() - point - 1);
  std::ostringstream actual;
  actual.precision(digits);
  actual << std::fixed << static_cast<double>(parameters) / 1e6;
  EXPECT_EQ(claim, actual.str()) << file << " has " << parameters << " parameters";
}

TEST(Examples, DescribeNetworksThatCanBeMadeAndCut) {
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PENSTOCK_EXAMPLES)) {
    if (entry.path().extension() != ".toml" || entry.path().filename() == "sweep.toml") continue;
    SCOPED_TRACE(entry.path());
    Settings settings;
    ASSERT_NO_THROW(read_run_file(entry.path(), settings));
    EXPECT_NO_THROW(check_read(settings));
    Config& config = settings.config;
    EXPECT_TRUE(settings.given("model.kind"));
    EXPECT_EQ(config.model.kind == "sequential", !config.model.sequence.empty());
    ++read;
    if (config.model.kind == "own") continue;  // launch/examples/own_network.cpp brings it
    const std::string text = text_of(entry.path());
    const int64_t all = parameters_of(config, 2);
    EXPECT_EQ(parameters_of(config, config.pipeline.stages), all);
    expect_claim(text, "\\(([0-9.]+) with the auxiliary head\\)", all, entry.path());
    config.model.auxiliary_weight = 0.0;
    expect_claim(text, "([0-9.]+) million\\s+(#\\s*)?parameters", parameters_of(config, 2),
                 entry.path());
  }
  EXPECT_GE(read, 8);
}

TEST(Examples, TheSweepHasSixPoints) {
  const std::string path = PENSTOCK_EXAMPLES "/sweep.toml";
  // The forecasts' own figures are not looked at here: this machine need not be measured for them.
  const std::string text = std::regex_replace(text_of(path), std::regex(R"(\[set\].*)"),
                                              "[set]\nrun.measure_processor = false");
  const DrawnSweep drawn = draw_sweep(parse_sweep_file(text, path), built_in_models());
  EXPECT_EQ(drawn.record.points.size(), 6U);
  for (const SweepPoint& point : drawn.record.points) {
    EXPECT_EQ(point.skipped, "") << point.name;
    EXPECT_LE(point.sizes.ranks(), 4);
    EXPECT_EQ(point.sizes.mini_batch(), 64);
  }
}

}  // namespace
}  // namespace penstock

// The run files that are handed out: read without complaint, key by key.
#include "helpers.h"

namespace penstock {
namespace {

TEST(Examples, AreValidRunFiles) {
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PENSTOCK_EXAMPLES)) {
    if (entry.path().extension() != ".toml") continue;
    Settings settings;
    EXPECT_NO_THROW(read_run_file(entry.path(), settings)) << entry.path();
    EXPECT_TRUE(settings.given("model.kind")) << entry.path();
    EXPECT_EQ(settings.config.model.kind == "sequential", !settings.config.model.sequence.empty());
    ++read;
  }
  EXPECT_GE(read, 5);
}

}  // namespace
}  // namespace penstock

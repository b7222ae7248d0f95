// `penstock report` of a real run: its page says what the run's summary says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/distributed/job.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

constexpr const char* kReported = R"([model]
kind = "mlp"
hidden_layers = [16, 16]
image = [1, 4, 4]
[data]
kind = "synthetic"
[pipeline]
stages = 2
micro_batches = 4
micro_batch_size = 2
[run]
steps = 6
threads = 1
)";

Json embedded_data(const std::string& html) {
  const size_t start = html.find('>', html.find("id=\"data\"")) + 1;
  return Json::parse(html.substr(start, html.find("</script>", start) - start));
}

TEST(Reports, OfARunSayWhatItsSummarySays) {
  const TemporaryFolder scratch;
  const std::string out = scratch / "run";
  const JobResult run =
      run_penstock(2, "train " + scratch.write("run.toml", kReported) + " --out " + out);
  ASSERT_EQ(run.exit_code, 0) << run.output;
  const JobResult report = run_alone("report " + out);
  ASSERT_EQ(report.exit_code, 0) << report.output;
  EXPECT_EQ(report.output, out + "/report.html\n");
  const std::string html = read_file(out + "/report.html");
  const Json data = embedded_data(html);
  const Json summary = Json::parse(read_file(out + "/summary.json"));
  EXPECT_EQ(data["summary"], summary);
  EXPECT_EQ(data["facts"]["state"], "finished");
  EXPECT_EQ(data["curves"][0]["series"][0]["points"].size(), 6U);
  EXPECT_EQ(data["curves"][0]["series"][0]["points"][5][1], summary["final_loss"]);
  const Json& parts = data["timeline"]["steps"][0]["parts"];
  ASSERT_EQ(parts.size(), 2U);
  for (const Json& part : parts) EXPECT_EQ(part["ranks"].size(), 2U);
  EXPECT_THAT(html, HasSubstr("exposed communication"));
}

TEST(Reports, RefuseWhatIsNoRun) {
  const TemporaryFolder scratch;
  const JobResult report = run_alone("report " + scratch.path());
  EXPECT_EQ(report.exit_code, 2);
  EXPECT_THAT(report.output, HasSubstr("penstock: error: " + scratch.path() + "/metrics.jsonl"));
  (void)scratch.write("metrics.jsonl", "{\"step\": 1\n");
  const JobResult damaged = run_alone("report " + scratch.path());
  EXPECT_EQ(damaged.exit_code, 5);
  EXPECT_THAT(damaged.output, HasSubstr("metrics.jsonl, line 1"));
}

}  // namespace
}  // namespace penstock

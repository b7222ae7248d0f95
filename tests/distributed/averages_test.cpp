// Averages of weights come with those of the norms' moving statistics: what training evaluates is
// what `eval` and `--init` find in its checkpoint.
//
// Averaged weights make other activations than the last ones, so the last ones' statistics do not
// fit them. (TensorFlow's AmoebaNet averages trained and moving variables alike.)
#include <gmock/gmock.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "runtime/records/checkpoint/reader.h"
#include "tests/distributed/promise.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

constexpr NamedNetwork kNorms = {"resnet", R"([model]
kind = "resnet"
depth = 14
width = 4
image = [3, 9, 9]
classes = 5
)"};
constexpr int kSteps = 10;  // of kCommon
constexpr const char* kEvaluated = "--data.samples 48 --data.validation 0.25 --run.eval_batch 4 ";

bool is_statistic(const std::string& name) {
  return name.ends_with("running_mean") || name.ends_with("running_var");
}

class Averages : public testing::Test {
 protected:
  // Trains from scratch with all checkpoints kept.
  void learn(int stages, const std::string& options = "") {
    (void)train(scratch_, run_file_, stages,
                std::string(kEvaluated) + "--checkpoint.every 1 --checkpoint.keep 0 --stages " +
                    std::to_string(stages) + " " + options);
  }
  [[nodiscard]] CheckpointReader checkpoint(int step) const {
    const std::string number = std::to_string(step);
    return CheckpointReader(scratch_ / "run/checkpoints/step-" +
                            std::string(8 - number.size(), '0') + number);
  }
  static std::vector<float> values(CheckpointReader& reader, const std::string& name) {
    for (const auto& list : {reader.model(), reader.optimizer()}) {
      for (const auto& stored : list) {
        if (stored.tensor.name != name) continue;
        std::vector<std::byte> bytes(stored.tensor.end - stored.tensor.begin);
        reader.read(name, bytes);
        std::vector<float> numbers(bytes.size() / sizeof(float));
        std::memcpy(numbers.data(), bytes.data(), bytes.size());
        return numbers;
      }
    }
    ADD_FAILURE() << "no tensor " << name;
    return {};
  }
  [[nodiscard]] double loss_of_last_evaluation() const {
    double loss = 0.0;
    std::istringstream lines(read_file(scratch_ / "run/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const auto json = nlohmann::json::parse(line);
      if (json.contains("eval")) json.at("loss").get_to(loss);
    }
    return loss;
  }
  [[nodiscard]] double loss_of_eval(int stages) const {
    const JobResult job = run_penstock(
        stages, "eval " + scratch_ / "run/run.toml" + " --json --stages " + std::to_string(stages));
    EXPECT_EQ(job.exit_code, 0) << job.output;
    const size_t begin = job.output.find('{');
    if (begin == std::string::npos) return -1.0;
    return nlohmann::json::parse(job.output.substr(begin, job.output.find('\n', begin) - begin))
        .at("loss")
        .get<double>();
  }

  TemporaryFolder scratch_;
  std::string run_file_ = write_run_file(scratch_, kNorms);
};

TEST_F(Averages, OfMovingStatisticsAreInTheCheckpoint) {
  for (const int stages : {1, 2}) {
    learn(stages);
    std::vector<std::string> names;
    for (const auto& stored : checkpoint(1).model()) {
      if (is_statistic(stored.tensor.name)) names.push_back(stored.tensor.name);
    }
    ASSERT_EQ(names.size(), 30U) << "two of each of 15 norms";
    for (const std::string& name : names) {
      // Means start as zeros and variances as ones.
      CheckpointReader first = checkpoint(1);
      std::vector<double> expected(values(first, name).size(),
                                   name.ends_with("running_var") ? 1.0 : 0.0);
      for (int step = 1; step <= kSteps; ++step) {
        const double decay = std::min(0.9, (1.0 + step) / (10.0 + step));
        CheckpointReader reader = checkpoint(step);
        const std::vector<float> now = values(reader, name);
        const std::vector<float> averages = values(reader, name + ".average");
        ASSERT_EQ(averages.size(), expected.size());
        for (size_t i = 0; i < expected.size(); ++i) {
          expected[i] = decay * expected[i] + (1.0 - decay) * double{now[i]};
          EXPECT_NEAR(double{averages[i]}, expected[i], 1e-5 * std::max(1.0, expected[i])) << name;
        }
      }
      CheckpointReader last = checkpoint(kSteps);
      EXPECT_NE(values(last, name), values(last, name + ".average"));
    }
  }
}

TEST_F(Averages, AreWhatEvalFinds) {
  for (const int stages : {1, 2}) {
    learn(stages);
    const double loss = loss_of_last_evaluation();
    EXPECT_GT(loss, 0.0);
    EXPECT_EQ(loss_of_eval(stages), loss);
  }
  const double averaged = loss_of_last_evaluation();
  learn(2, "--optimizer.moving_average 0");
  EXPECT_NE(loss_of_last_evaluation(), averaged) << "averages make a difference";
}

// Norms that stand still keep their statistics as they are, to the bit, and the checkpoint has no
// averages of them: like one of a time when there were none.
TEST_F(Averages, AreNotNeededOfEveryTensor) {
  learn(2, "--freeze '*.norm.*'");
  CheckpointReader reader = checkpoint(kSteps);
  EXPECT_TRUE(reader.contains("stem.conv.weight.average"));
  EXPECT_FALSE(reader.contains("stem.norm.weight.average"));
  EXPECT_FALSE(reader.contains("stem.norm.running_mean.average"));
  EXPECT_EQ(values(reader, "stem.norm.running_var"), std::vector<float>(4, 1.0F));
  EXPECT_EQ(loss_of_eval(2), loss_of_last_evaluation());
  std::filesystem::rename(scratch_ / "run", scratch_ / "source");
  learn(1, "--steps 1 --init " + scratch_ / "source");
  EXPECT_TRUE(checkpoint(1).contains("stem.norm.running_mean.average"));
}

}  // namespace
}  // namespace penstock

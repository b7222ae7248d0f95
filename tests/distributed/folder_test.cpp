// Runs that start from a Hugging Face folder and end in one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/records/checkpoint/format/safetensors.h"
#include "tests/distributed/job.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kRunFile = R"([model]
from = "published"
context = 12
[data]
kind = "synthetic"
[pipeline]
micro_batches = 2
micro_batch_size = 2
[run]
steps = 2
threads = 1
trace = 0
)";

class FolderRuns : public testing::Test {
 protected:
  void SetUp() override {
    fs::copy(golden("qwen3"), published_);
    run_file_ = scratch_.write("run.toml", kRunFile);
  }
  static std::string golden(const std::string& name) {
    return std::string(PENSTOCK_SOURCE) + "/tests/unit/records/hub/goldens/" + name;
  }
  std::string train(int ranks, const std::string& out, const std::string& options = "") {
    const JobResult job =
        run_penstock(ranks, "train " + run_file_ + " --stages " + std::to_string(ranks) +
                                " --out " + scratch_ / out + " " + options);
    EXPECT_EQ(job.exit_code, 0) << job.output;
    return scratch_ / out;
  }
  JobResult alone(const std::string& command) { return run_alone(command); }

  TemporaryFolder scratch_;
  std::string published_ = scratch_ / "published";
  std::string run_file_;
};

// Finite weights whose logits are not: `eval` fails as `generate` does, and gives no perplexity.
TEST_F(FolderRuns, WhoseLogitsAreNoNumbersAreNotEvaluated) {
  for (const auto& entry : fs::directory_iterator(published_)) {
    if (entry.path().extension() != ".safetensors") continue;
    const std::string path = entry.path().string();
    const SafetensorsFile file(path, FileOwner::User);
    const TensorInfo* norm = file.find("model.norm.weight");
    if (norm == nullptr) continue;
    std::fstream bytes(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto data = fs::file_size(path) - file.tensors().back().end;
    bytes.seekp(static_cast<std::streamoff>(data + norm->begin));
    for (uint64_t i = 0; i < norm->size_bytes() / 2; ++i) bytes << "\x7F\x7F";  // bf16's largest
  }
  const std::string from = " --model.from " + published_;
  const JobResult eval =
      alone("eval" + from +
            " --data.kind synthetic --data.samples 16 --data.validation 0.5 --model.context 12");
  EXPECT_EQ(eval.exit_code, 2) << eval.output;
  EXPECT_THAT(eval.output, HasSubstr("are not numbers"));
}

// A run goes on even where the folder is gone: it has kept all of it but the weights.
TEST_F(FolderRuns, HaveTheSameBitsForEveryKAndGoOnWithoutTheFolder) {
  const std::string one = train(1, "one", "--steps 4");
  const std::string two = train(2, "two");
  EXPECT_TRUE(fs::exists(two + "/folder/config.json"));
  EXPECT_FALSE(fs::exists(two + "/folder/model.safetensors.index.json"));
  fs::rename(published_, published_ + "-elsewhere");
  run_file_ = two + "/run.toml";
  (void)train(2, "two", "--steps 4 --resume auto");
  const JobResult same = alone("inspect " + one + " " + two);
  EXPECT_EQ(same.exit_code, 0) << same.output;

  const JobResult fresh = alone("train " + run_file_ + " --stages 1 --out " + scratch_ / "new");
  EXPECT_EQ(fresh.exit_code, 2) << fresh.output;
  EXPECT_THAT(fresh.output, AllOf(HasSubstr(published_), HasSubstr("--model.from")));

  const JobResult exported = alone("export " + two + " " + scratch_ / "out");
  EXPECT_EQ(exported.exit_code, 0) << exported.output;
  const std::string evaluate = " --model.context 12 --data.kind synthetic";
  const JobResult used = alone("eval --model.from " + scratch_ / "out" + evaluate +
                               " --data.validation 0.01 --threads 1");
  EXPECT_EQ(used.exit_code, 0) << used.output;
  EXPECT_THAT(used.output, HasSubstr(scratch_ / "out" + ": "));
}

// GPT-2's positions are learned, so those behind the run's context are not in its checkpoints.
TEST_F(FolderRuns, SayThatTheyHaveFewerPositions) {
  fs::remove_all(published_);
  fs::copy(golden("gpt2"), published_);
  const std::string run = train(1, "run");
  const JobResult exported = alone("export " + run + " " + scratch_ / "out");
  EXPECT_EQ(exported.exit_code, 0) << exported.output;
  EXPECT_THAT(exported.output, HasSubstr("12 of the 64 positions of the folder"));
  const JobResult refused = alone("export " + run + " " + scratch_ / "again" + " --file-size much");
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("--file-size: an amount of memory"));
}

TEST_F(FolderRuns, RefuseAFolderBeforeAnythingIsWritten) {
  const std::string start = "train " + run_file_ + " --out " + scratch_ / "run" + " ";
  const JobResult other = alone(start + "--model.layers 3");
  EXPECT_EQ(other.exit_code, 2) << other.output;
  EXPECT_THAT(other.output, AllOf(HasSubstr("--model.layers"), HasSubstr("is 3, but 2 in")));
  const JobResult longer = alone(start + "--model.context 65");
  EXPECT_EQ(longer.exit_code, 2) << longer.output;
  fs::remove(published_ + "/model-00002-of-00002.safetensors");
  const JobResult half = alone(start);
  EXPECT_EQ(half.exit_code, 5) << half.output;
  EXPECT_THAT(half.output,
              HasSubstr("model-00002-of-00002.safetensors, which the folder does not"));
  EXPECT_FALSE(fs::exists(scratch_ / "run/run.toml"));
}

// Adapters of a folder as peft writes it, beside the network of another; the first is not needed
// once the run has begun.
TEST_F(FolderRuns, StartFromAdaptersAndEndInThem) {
  fs::remove_all(published_);
  fs::copy(golden("qwen2"), published_);
  const std::string adapters = scratch_ / "adapters";
  fs::copy(golden("qwen2-lora"), adapters);
  const std::string from = " --lora.from " + adapters + " --optimizer.learning_rate 0.01";
  const std::string one = train(1, "one", "--steps 4" + from);
  const std::string two = train(2, "two", from);
  fs::remove_all(adapters);
  run_file_ = two + "/run.toml";
  (void)train(2, "two", "--steps 4 --resume auto");
  const JobResult same = alone("inspect " + one + " " + two);
  EXPECT_EQ(same.exit_code, 0) << same.output;

  const std::string out = scratch_ / "out";
  const JobResult exported = alone("export " + two + " " + out);
  EXPECT_EQ(exported.exit_code, 0) << exported.output;
  EXPECT_THAT(read_file(out + "/adapter_config.json"), HasSubstr(published_));
  EXPECT_FALSE(fs::exists(out + "/config.json"));
  const auto loss = [&](const std::string& what) {
    const JobResult job = alone("eval " + what + " --data.validation 0.01 --threads 1");
    EXPECT_EQ(job.exit_code, 0) << job.output;
    return job.output.substr(std::min(job.output.find(" targets, "), job.output.size()));
  };
  const std::string base =
      "--model.from " + published_ + " --model.context 12 --data.kind synthetic";
  const std::string learnt = loss(two);
  EXPECT_EQ(loss(base + " --lora.from " + out), learnt);
  EXPECT_NE(loss(base + " --lora.from " + golden("qwen2-lora")), learnt);
  EXPECT_NE(loss(base), learnt);
}

// The types of tensors by name, as `inspect` tells them of a checkpoint or of what a run file would
// train.
std::map<std::string, std::string> dtypes_in(const std::string& path) {
  const JobResult job = run_alone("inspect " + path + " --json");
  EXPECT_EQ(job.exit_code, 0) << job.output;
  std::map<std::string, std::string> dtypes;
  const auto told = nlohmann::json::parse(job.output);
  for (const auto& tensor : told.at("tensors")) {
    dtypes[tensor.at("name")] = tensor.at("dtype");
  }
  return dtypes;
}

// In half precision a frozen matrix is kept, and saved, as products read it; from there a run goes
// on with the same bits at another K, and it is used in either precision.
TEST_F(FolderRuns, KeepFrozenMatricesInHalfPrecision) {
  const std::string how = " --lora.rank 2 --run.precision bf16 --optimizer.learning_rate 0.01";
  const std::string one = train(1, "one", "--steps 4" + how);
  const std::string two = train(2, "two", how);
  const auto dtypes = dtypes_in(two);
  EXPECT_EQ(dtypes, dtypes_in(two + "/run.toml"));
  for (const char* narrow : {"embedding.token.weight", "blocks.0.attention.query.weight",
                             "blocks.1.feed_forward.out.weight", "classifier.weight"}) {
    EXPECT_EQ(dtypes.at(narrow), "BF16") << narrow;
  }
  for (const char* wide :
       {"blocks.0.attention.query.lora_a", "blocks.0.attention.query_norm.weight", "norm.weight"}) {
    EXPECT_EQ(dtypes.at(wide), "F32") << wide;
  }
  run_file_ = two + "/run.toml";
  (void)train(1, "two", "--steps 4 --resume auto");
  const JobResult same = alone("inspect " + one + " " + two);
  EXPECT_EQ(same.exit_code, 0) << same.output;

  for (const char* precision : {"bf16", "fp32"}) {
    const JobResult used =
        alone("eval " + two + " --data.validation 0.01 --run.precision " + precision);
    EXPECT_EQ(used.exit_code, 0) << used.output;
  }
  const JobResult merged = alone("export " + two + " " + scratch_ / "out" + " --merge");
  EXPECT_EQ(merged.exit_code, 0) << merged.output;
  const JobResult adapters = alone("export " + two + " " + scratch_ / "adapters");
  EXPECT_EQ(adapters.exit_code, 0) << adapters.output;

  // The other precision has the numbers that there are, and so has this one afterwards.
  const auto matrix = [&] {
    return read_checkpoint(two + "/checkpoints/latest").at("blocks.0.attention.key.weight");
  };
  const std::vector<std::byte> kept = matrix();
  (void)train(2, "two", "--steps 5 --resume auto --run.precision fp32");
  EXPECT_EQ(dtypes_in(two).at("blocks.0.attention.key.weight"), "F32");
  EXPECT_EQ(matrix().size(), 2 * kept.size());
  (void)train(1, "two", "--steps 6 --resume auto --run.precision bf16");
  EXPECT_EQ(matrix(), kept);
}

TEST_F(FolderRuns, RefuseAdaptersOfAnotherNetwork) {
  const JobResult other = alone("train " + run_file_ + " --out " + scratch_ / "run" +
                                " --lora.from " + golden("qwen2-lora"));
  EXPECT_EQ(other.exit_code, 2) << other.output;
  EXPECT_THAT(other.output, AllOf(HasSubstr("adapter_model.safetensors"), HasSubstr("make it [")));
  EXPECT_FALSE(fs::exists(scratch_ / "run/run.toml"));
}

// What a folder of adapters has no place for is said, and what to do.
TEST_F(FolderRuns, OfWhichMoreThanAdaptersIsTrainedAreMerged) {
  const std::string run = train(1, "run", "--lora.rank 2 --optimizer.freeze embedding.*");
  const std::string out = scratch_ / "out";
  const JobResult refused = alone("export " + run + " " + out);
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("--merge"));
  const JobResult merged = alone("export " + run + " " + out + " --merge");
  EXPECT_EQ(merged.exit_code, 0) << merged.output;
  EXPECT_TRUE(fs::exists(out + "/model.safetensors"));
  const std::string plain = train(1, "plain");
  const JobResult nothing = alone("export " + plain + " " + out + "2 --merge");
  EXPECT_EQ(nothing.exit_code, 2) << nothing.output;
  EXPECT_THAT(nothing.output, HasSubstr("has none"));
}

// A decoder that came from no folder is exported as that of a family, and is the same network.
TEST_F(FolderRuns, OfAScratchNetworkEndInAFolderToo) {
  run_file_ = scratch_.write("scratch.toml", R"([model]
kind = "decoder"
layers = 2
width = 16
context = 9
vocabulary = 30
positions = "rotary"
norm = "rms"
activation = "silu"
gated = true
bias = false
output_bias = false
window = 4
window_layers = [1]
[data]
kind = "synthetic"
validation = 0.0001
[run]
steps = 2
threads = 1
trace = 0
)");
  const std::string run = scratch_ / "run";
  const JobResult learnt = alone("train " + run_file_ + " --out " + run);
  ASSERT_EQ(learnt.exit_code, 0) << learnt.output;
  const std::string out = scratch_ / "out";
  const JobResult exported = alone("export " + run + " " + out);
  EXPECT_EQ(exported.exit_code, 0) << exported.output;
  EXPECT_THAT(read_file(out + "/config.json"), HasSubstr("Qwen2ForCausalLM"));
  const auto loss = [&](const std::string& what) {
    const JobResult job = alone("eval " + what);
    EXPECT_EQ(job.exit_code, 0) << job.output;
    return job.output.substr(std::min(job.output.find(" targets, "), job.output.size()));
  };
  const std::string own = loss(run);
  EXPECT_THAT(own, HasSubstr("loss 3."));
  EXPECT_EQ(loss("--model.from " + out + " --data.kind synthetic --data.validation 0.0001"), own);
  // A bit of a weight: what else there is to export is told.
  const std::string step = run + "/checkpoints/step-00000002";
  std::filesystem::copy(step, run + "/checkpoints/step-00000003");
  std::string shard;
  for (const auto& file : std::filesystem::directory_iterator(run + "/checkpoints/step-00000003")) {
    const std::string path = file.path();
    if (path.find("/model-") != std::string::npos && path.ends_with(".safetensors")) shard = path;
  }
  std::string bytes = read_file(shard);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  std::ofstream(shard, std::ios::binary) << bytes;
  const JobResult damaged = alone("export " + run + " " + out + "-3");
  EXPECT_EQ(damaged.exit_code, 5) << damaged.output;
  EXPECT_THAT(damaged.output, HasSubstr("the newest whole one of its run is " + step));
}

}  // namespace
}  // namespace penstock

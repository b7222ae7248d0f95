// `penstock inspect`: what it says of checkpoints and run files, and what it refuses.
#include "launch/program/inspect/inspect_command.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/records/checkpoint/layout.h"
#include "runtime/records/checkpoint/writer/checkpoint_writer.h"
#include "tests/unit/launch/helpers.h"
#include "tests/unit/network/optimizer/update_device.h"
#include "tests/unit/records/checkpoint/bytes.h"
#include "tests/unit/records/checkpoint/thread_world.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

class InspectCommand : public testing::Test {
 protected:
  static Inspection look(const std::vector<std::string>& arguments) {
    return inspect(arguments, built_in_models());
  }
  // A weight of ones, but its last element, and a statistic.
  void save(int64_t step, float last, std::vector<LayerRecord> layers = kLayers,
            const Shape& shape = {2, 3}) {
    on_ranks(1, [&](Collective& world) {
      CheckpointRequest request;
      request.root = run_ + "/checkpoints";
      request.state.step = step;
      request.state.layers = std::move(layers);
      Tensor weight = device_.empty(shape, DType::F32, Purpose::Parameters);
      std::fill_n(weight.data<float>(), weight.elements(), 1.0F);
      weight.data<float>()[weight.elements() - 1] = last;
      const Tensor mean = device_.zeros({3}, DType::F32, Purpose::Parameters);
      request.model = {{{"b.weight", weight}, 0}, {{"a.running_mean", mean}, 1}};
      request.optimizer = {{{"b.weight.exp_avg", weight}, 0}};
      CheckpointWriter(world, device_).save(request);
    });
  }
  [[nodiscard]] std::string step(int64_t number) const {
    return run_ + "/checkpoints/" + step_name(number);
  }

  inline static const std::vector<LayerRecord> kLayers = {{"b", "linear", 6},
                                                          {"a", "batch-norm", 0}};
  TemporaryFolder here_;
  std::string run_ = here_ / "run";
  UpdateDevice device_;
};

TEST_F(InspectCommand, ListsACheckpointByAnyOfItsPaths) {
  save(1, 1.0F);
  save(2, 1.0F);
  for (const std::string& path :
       {run_, run_ + "/checkpoints", run_ + "/checkpoints/latest", step(2)}) {
    const Json json = Json::parse(look({path, "--json"}).text);
    EXPECT_EQ(json["parameters"], 6) << path;
    EXPECT_EQ(json["layers"], Json::parse(R"([{"name": "b", "kind": "linear", "parameters": 6},
                                              {"name": "a", "kind": "batch-norm", "parameters": 0}])"));
    ASSERT_EQ(json["tensors"].size(), 2U);
    EXPECT_EQ(json["tensors"][0], Json::parse(R"({"name": "b.weight", "shape": [2, 3],
              "dtype": "F32", "file": "model-00001-of-00002.safetensors"})"));
    EXPECT_EQ(json["tensors"][1]["name"], "a.running_mean");
    EXPECT_EQ(json["optimizer_tensors"][0]["name"], "b.weight.exp_avg");
    EXPECT_THAT(look({path}).text,
                AllOf(HasSubstr("step 2, "), HasSubstr("6 parameters in 2 layers"),
                      HasSubstr("[2, 3]"), HasSubstr("optimizer-00001-of-00001.safetensors")));
  }
}

TEST_F(InspectCommand, OlderCheckpointsDoNotTellTheirLayers) {
  save(1, 1.0F, {});
  const Json json = Json::parse(look({run_, "--json"}).text);
  EXPECT_EQ(json["parameters"], 9);
  EXPECT_TRUE(json["layers"].empty());
}

TEST_F(InspectCommand, VerifiesEveryByte) {
  save(1, 1.0F);
  EXPECT_THAT(look({"--verify", run_}).text, HasSubstr("verified: "));
  const std::string shard = step(1) + "/optimizer-00001-of-00001.safetensors";
  std::string bytes = contents(shard);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  put(shard, bytes);
  EXPECT_NO_THROW((void)look({run_})) << "the list alone reads no tensors";
  EXPECT_THAT(refusal(ErrorKind::Data, [&] { (void)look({run_, "--verify"}); }), HasSubstr(shard));
}

TEST_F(InspectCommand, TellsOfADamagedCheckpointWhichOneIsWhole) {
  const auto offers = [this](const std::vector<std::string>& arguments) {
    EXPECT_THAT(refusal(ErrorKind::Data, [&] { (void)look(arguments); }),
                HasSubstr("the newest whole one of its run is " + step(1)))
        << arguments.back();
  };
  save(1, 1.0F);
  save(2, 1.0F);
  const std::string shard = step(2) + "/optimizer-00001-of-00001.safetensors";
  const std::string whole = contents(shard);
  put(shard, whole.substr(0, whole.size() - 1) + "!");
  offers({"--verify", run_});
  offers({step(1), step(2)});
  put(shard, whole.substr(0, 40));
  offers({run_});
  offers({run_ + "/checkpoints"});
  offers({step(2)});
  fs::remove(step(2) + "/manifest.json");
  offers({run_});
  offers({step(2)});
}

TEST_F(InspectCommand, ComparesTwo) {
  save(1, 1.0F);
  save(2, 1.0F);
  save(3, 1.25F);
  save(4, std::nanf(""));
  save(5, 1.0F, kLayers, {6});
  const Inspection same = look({step(1), step(2)});
  EXPECT_EQ(same.exit_code, 0);
  EXPECT_THAT(same.text, HasSubstr("equal"));
  const Inspection other = look({step(1), step(3)});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.text, AllOf(HasSubstr("b.weight: 1 elements differ, by 0.25 at most"),
                                HasSubstr("b.weight.exp_avg"), HasSubstr("2 tensors differ"),
                                Not(HasSubstr("running_mean"))));
  EXPECT_THAT(look({step(1), step(4)}).text, HasSubstr("finite"));
  const Json json = Json::parse(look({step(1), step(5), "--json"}).text);
  EXPECT_EQ(json["equal"], false);
  EXPECT_EQ(json["differences"][0]["first"], "F32 [2, 3]");
  EXPECT_EQ(json["differences"][0]["second"], "F32 [6]");
}

TEST_F(InspectCommand, SaysWhatARunFileWouldTrain) {
  put(here_ / "run.toml", R"([model]
kind = "transformer-lm"
layers = 96
width = 12288
heads = 96
context = 2048
vocabulary = 50257
tied_embedding = true
[data]
kind = "synthetic"
)");
  const Json json = Json::parse(look({here_ / "run.toml", "--json"}).text);
  EXPECT_GT(json["parameters"], int64_t{170'000'000'000});
  EXPECT_EQ(json["layers"].size(), 99U);
  EXPECT_EQ(json["layers"][1]["kind"], "transformer-block");
  int64_t sum = 0;
  for (const Json& layer : json["layers"]) sum += layer["parameters"].get<int64_t>();
  EXPECT_EQ(json["parameters"], sum);
  int64_t elements = 0;
  for (const Json& tensor : json["tensors"]) {
    int64_t product = 1;
    for (const Json& extent : tensor["shape"]) product *= extent.get<int64_t>();
    elements += product;
    EXPECT_EQ(tensor["dtype"], "F32");
  }
  EXPECT_EQ(elements, sum);
  EXPECT_THAT(look({here_ / "run.toml", "--model.layers", "2"}).text,
              AllOf(HasSubstr("in 5 layers"), HasSubstr("blocks.1.attention.query.weight")));
}

TEST_F(InspectCommand, SaysWhatEachLayerGivesAndCosts) {
  put(here_ / "run.toml", R"([model]
kind = "mlp"
image = [3, 4, 4]
hidden_layers = [16]
classes = 10
[pipeline]
micro_batch_size = 4
)");
  const Json layers = Json::parse(look({here_ / "run.toml", "--json"}).text)["layers"];
  ASSERT_EQ(layers.size(), 3U);
  const Json& hidden = layers[1];
  EXPECT_EQ(hidden["outputs"], Json({{4, 16}}));
  EXPECT_EQ(hidden["output_bytes"], 4 * 16 * 4);
  EXPECT_GE(hidden["forward_flops"], 2.0 * 4 * 48 * 16);
  EXPECT_LE(hidden["forward_flops"], 2.2 * 4 * 48 * 16) << "with bias and activation";
  EXPECT_GE(hidden["kept_bytes"], 4 * 16 * 4) << "the output, which the next layer's weights need";
  const std::string text = look({here_ / "run.toml"}).text;
  EXPECT_THAT(text, ContainsRegex("hidden.0 +linear +784 +\\[4, 16\\] +[0-9.]+ k +256 B"));
  save(1, 1.0F);
  EXPECT_THAT(look({run_}).text, Not(HasSubstr("of a micro-batch")));
}

TEST_F(InspectCommand, RefusesWhatItCannotLookAt) {
  save(1, 1.0F);
  put(here_ / "run.toml", "[model]\nkind = \"mlp\"\n");
  const auto refused = [&](const std::vector<std::string>& arguments) {
    return refusal(ErrorKind::Input, [&] { (void)look(arguments); });
  };
  EXPECT_THAT(refused({}), HasSubstr("--help"));
  EXPECT_THAT(refused({run_, run_, run_}), HasSubstr("--help"));
  EXPECT_THAT(refused({here_ / "absent"}), HasSubstr("does not exist"));
  fs::create_directories(here_ / "empty");
  EXPECT_THAT(refused({here_ / "empty"}), HasSubstr("no directory that has one"));
  EXPECT_THAT(refused({run_, here_ / "run.toml"}), HasSubstr("second path"));
  EXPECT_THAT(refused({run_, "--versify"}), HasSubstr("--versify"));
}

}  // namespace
}  // namespace penstock

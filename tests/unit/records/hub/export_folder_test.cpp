// Checkpoints as folders: there and back with every bit, and never half a folder.
#include "runtime/records/hub/export_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>

#include "runtime/records/checkpoint/writer/checkpoint_writer.h"
#include "runtime/records/hub/config/config_json.h"
#include "runtime/records/hub/kept_folder.h"
#include "tests/unit/records/checkpoint/thread_world.h"
#include "tests/unit/records/hub/folders.h"

namespace penstock {
namespace {

using testing::HasSubstr;

class Exports : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(from_);
    put(from_ + "/config.json", kGpt2Config);
    put(from_ + "/tokenizer.json", "{}");
    put_tensors(from_ + "/model.safetensors", gpt2_tensors());
    keep_folder(from_, kept_);
  }

  // The folder's own weights as a checkpoint, matrices in that type.
  std::string checkpoint(DType matrices = DType::F32) {
    return checkpoint_of(from_, "gpt2", gpt2_network(), matrices);
  }
  std::string checkpoint_of(const std::string& folder, const std::string& family,
                            const std::vector<HubTensor>& network, DType matrices) {
    HubWeights weights(folder, hub_family(family), read_hub_config(folder).model.heads);
    CheckpointRequest request;
    request.root = here_ / "run/checkpoints";
    for (const HubTensor& tensor : network) {
      const Shape shape{std::span<const int64_t>(tensor.shape)};
      Tensor value =
          device_.empty(shape, shape.rank() == 2 ? matrices : DType::F32, Purpose::Parameters);
      weights.read(tensor.name, value, device_);
      request.model.push_back({{tensor.name, value}, 0});
    }
    std::string path;
    on_ranks(
        1, [&](Collective& world) { path = CheckpointWriter(world, device_).save(request).path; });
    return path;
  }

  // Exports the weights of a golden of 16-bit weights, and expects the tensors of its files again.
  void expect_back(const std::string& golden, const std::vector<HubTensor>& network, int files) {
    const std::string folder = PENSTOCK_HUB_GOLDENS "/" + golden;
    const std::string family = read_hub_config(folder).family;
    (void)export_folder({.checkpoint = checkpoint_of(folder, family.c_str(), network, DType::F32),
                         .folder = folder,
                         .to = to_,
                         .dtype = "bf16",
                         .shard_bytes = 1 << 20});
    const SafetensorsFile after(to_ + "/model.safetensors");
    size_t tensors = 0;
    for (int file = 1; file <= files; ++file) {
      const SafetensorsFile before(folder + "/" + shard_file("model", file, files));
      for (const TensorInfo& tensor : before.tensors()) {
        const TensorInfo* again = after.find(tensor.name);
        ASSERT_NE(again, nullptr) << tensor.name;
        EXPECT_EQ(again->shape, tensor.shape) << tensor.name;
        std::vector<std::byte> a(tensor.size_bytes());
        std::vector<std::byte> b(again->size_bytes());
        before.read(tensor.name, a);
        after.read(tensor.name, b);
        EXPECT_EQ(a, b) << tensor.name;
        ++tensors;
      }
    }
    EXPECT_EQ(after.tensors().size(), tensors);
  }

  [[nodiscard]] ExportRequest request() {
    return {.checkpoint = checkpoint(), .folder = kept_, .to = to_, .shard_bytes = 1 << 20};
  }

  TemporaryFolder here_;
  std::string from_ = here_ / "published";
  std::string kept_ = here_ / "run/folder";
  std::string to_ = here_ / "out/model";
  UpdateDevice device_;
};

TEST_F(Exports, ComeBackAsTheyWere) {
  const ExportRequest asked = request();
  const Exported done = export_folder(asked);
  EXPECT_EQ(done.files, 1U);
  EXPECT_EQ(done.tensors, gpt2_tensors().size());
  EXPECT_EQ(contents(to_ + "/tokenizer.json"), "{}");
  const SafetensorsFile before(from_ + "/model.safetensors");
  const SafetensorsFile after(to_ + "/model.safetensors");
  EXPECT_EQ(after.metadata().at("format"), "pt");
  for (const TensorInfo& tensor : before.tensors()) {
    const TensorInfo* again = after.find(tensor.name);
    ASSERT_NE(again, nullptr) << tensor.name;
    EXPECT_EQ(again->shape, tensor.shape);
    std::vector<std::byte> a(tensor.size_bytes());
    std::vector<std::byte> b(tensor.size_bytes());
    before.read(tensor.name, a);
    after.read(tensor.name, b);
    EXPECT_EQ(a, b) << tensor.name;
  }
  const auto generation = nlohmann::json::parse(contents(to_ + "/generation_config.json"));
  EXPECT_EQ(generation["bos_token_id"], 6);
}

// Tensors that consist of several of ours, of which the first may have more rows.
TEST_F(Exports, PartsOfSeveralSizesComeBack) {
  expect_back("phi3", phi3_network(), 2);
}

// Tensors that consist of several of ours, head by head.
TEST_F(Exports, PartsOfHeadsComeBack) {
  expect_back("gpt-neox", gpt_neox_network(), 2);
}

// Tensors of ours that are several in the folder, one for each expert.
TEST_F(Exports, ExpertsComeBack) {
  expect_back("mixtral", mixture_network(4), 4);
}

// Two tensors of ours that are one in the folder, by expert.
TEST_F(Exports, PartsOfExpertsComeBack) {
  expect_back("granite-moe", mixture_network(2), 5);
}

// Two tensors of ours whose columns take turns in the folder, by expert.
TEST_F(Exports, ColumnsOfExpertsComeBack) {
  expect_back("gpt-oss", gpt_oss_network(), 6);
}

// The export has no MXFP4, and its config.json does not say so.
TEST_F(Exports, SayNothingOfQuantisedWeights) {
  const std::string golden = PENSTOCK_HUB_GOLDENS "/gpt-oss";
  auto config = nlohmann::json::parse(contents(golden + "/config.json"));
  config[kQuantisation] = {{"quant_method", "mxfp4"}};
  const std::string checkpoint = checkpoint_of(golden, "gpt_oss", gpt_oss_network(), DType::F32);
  put(from_ + "/config.json", config.dump());
  const Exported done =
      export_folder({.checkpoint = checkpoint, .folder = from_, .to = to_, .shard_bytes = 1 << 20});
  EXPECT_TRUE(done.unpacked);
  EXPECT_FALSE(nlohmann::json::parse(contents(to_ + "/config.json")).contains(kQuantisation));
}

// What corrects a router's choice keeps its digits.
TEST_F(Exports, CorrectionsStayWide) {
  const std::string folder = PENSTOCK_HUB_GOLDENS "/glm4-moe";
  CheckpointRequest request;
  request.root = here_ / "run/checkpoints";
  Tensor correction = device_.empty({4}, DType::F32, Purpose::Parameters);
  HubWeights(folder, hub_family("glm4_moe"), 4)
      .read("blocks.1.experts.router.correction", correction, device_);
  correction.data<float>()[0] = 1.0F + 0x1p-20F;
  request.model.push_back({{"blocks.1.experts.router.correction", correction}, 0});
  std::string path;
  on_ranks(1,
           [&](Collective& world) { path = CheckpointWriter(world, device_).save(request).path; });
  (void)export_folder(
      {.checkpoint = path, .folder = folder, .to = to_, .dtype = "bf16", .shard_bytes = 1 << 20});
  const SafetensorsFile after(to_ + "/model.safetensors");
  const TensorInfo* info = after.find("model.layers.1.mlp.gate.e_score_correction_bias");
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->dtype, "F32");
  float first[4];
  after.read(info->name, std::as_writable_bytes(std::span(first)));
  EXPECT_EQ(first[0], 1.0F + 0x1p-20F);
}

// The checkpoint has frozen matrices in half the bytes.
TEST_F(Exports, InSeveralFilesAndHalfTheBytes) {
  ExportRequest asked = request();
  asked.checkpoint = checkpoint(DType::BF16);
  asked.dtype = "bf16";
  asked.shard_bytes = 300;
  const Exported done = export_folder(asked);
  EXPECT_GT(done.files, 2U);
  const auto config = nlohmann::json::parse(contents(to_ + "/config.json"));
  EXPECT_EQ(config["dtype"], "bfloat16");
  EXPECT_EQ(config["n_embd"], 4);
  HubWeights weights(to_, hub_family("gpt2"), 2);
  const std::vector<HubTensor> network = gpt2_network();
  weights.check(network, true);
  Tensor key = device_.empty({4, 4}, DType::F32, Purpose::Parameters);
  weights.read("blocks.0.attention.key.weight", key, device_);
  EXPECT_EQ(floats_of(key)[1], number_at(6, 12 + 4));
}

TEST_F(Exports, OverwriteNothing) {
  const ExportRequest asked = request();
  std::filesystem::create_directories(to_);
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)export_folder(asked); }),
              HasSubstr("is there already"));
}

// A disk that fills up meanwhile: here a limit on the size of files.
TEST_F(Exports, LeaveNothingHalf) {
  const ExportRequest asked = request();
  const rlimit small = {600, RLIM_INFINITY};
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string said = refusal(ErrorKind::Resource, [&] { (void)export_folder(asked); });
  setrlimit(RLIMIT_FSIZE, &before);
  (void)std::signal(SIGXFSZ, old);
  EXPECT_THAT(said, HasSubstr("model.safetensors"));
  EXPECT_TRUE(std::filesystem::is_empty(here_ / "out"));
}

// The folder of a run has no weights, and knows where they are; or were.
TEST_F(Exports, KeptFoldersKnowWhereTheWeightsAre) {
  EXPECT_FALSE(std::filesystem::exists(kept_ + "/model.safetensors"));
  EXPECT_EQ(std::filesystem::canonical(weights_folder(kept_)), std::filesystem::canonical(from_));
  EXPECT_EQ(weights_folder(from_), from_);
  keep_folder(kept_, kept_);  // of a run that goes on
  EXPECT_EQ(contents(kept_ + "/tokenizer.json"), "{}");
  std::filesystem::remove_all(from_);
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)weights_folder(kept_); }),
              HasSubstr("--model.from"));
}

// `train --overwrite` without model.from used to leave the folder, whose network export then took.
TEST_F(Exports, AKeptFolderIsForgottenAndNothingElse) {
  std::ofstream(kept_ + "/notes.md") << "mine";
  forget_folder(kept_);
  EXPECT_EQ(contents(kept_ + "/notes.md"), "mine");
  EXPECT_FALSE(std::filesystem::exists(kept_ + "/config.json"));
  EXPECT_FALSE(std::filesystem::exists(kept_ + "/tokenizer.json"));
  keep_folder(from_, here_ / "again");
  forget_folder(here_ / "again");
  EXPECT_FALSE(std::filesystem::exists(here_ / "again"));
  forget_folder(from_);  // which no run has kept
  EXPECT_TRUE(std::filesystem::exists(from_ + "/config.json"));
}

// The old one used to go before the new one came.
TEST_F(Exports, AKeptFolderIsThereAtEveryMoment) {
  const std::string config = kept_ + "/config.json";
  const pid_t child = fork();
  if (child == 0) {
    for (;;) keep_folder(from_, kept_);
  }
  int missing = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  while (std::chrono::steady_clock::now() < end) {
    missing += std::filesystem::exists(config) ? 0 : 1;
  }
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(missing, 0);
  EXPECT_NO_THROW((void)read_hub_config(kept_));
}

// A kill may come between two renames where two names cannot be exchanged at once.
TEST_F(Exports, AKeptFolderThatAKillLeftUnderAnotherNameIsFound) {
  const auto family = read_hub_config(kept_).family;
  std::filesystem::rename(kept_, kept_ + ".old");
  EXPECT_EQ(read_hub_config(kept_).family, family) << "the old one";
  std::filesystem::create_directory(kept_ + ".old");
  std::filesystem::rename(kept_, kept_ + ".new");
  EXPECT_EQ(read_hub_config(kept_).family, family) << "the new one, which is whole by then";
  keep_folder(from_, kept_);
  EXPECT_FALSE(std::filesystem::exists(kept_ + ".new"));
}

}  // namespace
}  // namespace penstock

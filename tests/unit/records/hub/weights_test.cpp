// Weights of a folder: every number in its place, in three dtypes, and what is wrong with a folder.
#include "runtime/records/hub/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "runtime/records/checkpoint/manifest.h"
#include "tests/unit/records/hub/folders.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class HubFolders : public testing::Test {
 protected:
  [[nodiscard]] HubWeights open() const { return HubWeights(folder_, hub_family("gpt2"), 2); }
  [[nodiscard]] std::string refused(ErrorKind kind) {
    const std::vector<HubTensor> network = gpt2_network();
    return refusal(kind, [&] { open().check(network, true); });
  }
  [[nodiscard]] std::vector<float> read(HubWeights& weights, const std::string& name,
                                        const Shape& shape, bool addressable = true,
                                        DType kept = DType::F32) {
    UpdateDevice device(addressable);
    Tensor tensor = device.empty(shape, kept, Purpose::Parameters);
    weights.read(name, tensor, device);
    return floats_of(tensor);
  }
  // Two files and their index, the first with the first `count` tensors.
  void put_shards(size_t count) {
    const auto all = gpt2_tensors();
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(count);
    put_tensors(folder_ + "/one.safetensors", {all.begin(), middle});
    put_tensors(folder_ + "/two.safetensors", {middle, all.end()}, "F32", count);
    ShardIndex index;
    for (size_t i = 0; i < all.size(); ++i) {
      index.weight_map[all[i].name] = i < count ? "one.safetensors" : "two.safetensors";
    }
    put(folder_ + "/" + index_file("model"), encode_index(index));
  }

  TemporaryFolder here_;
  std::string folder_ = here_ / ".";
  std::string file_ = here_ / "model.safetensors";
};

// The Hub's cache has folders of links to files that are named by what they hold.
TEST_F(HubFolders, MayBeLinksToFilesElsewhere) {
  const std::string blob = here_ / "0a1b2c";
  put_tensors(blob, gpt2_tensors());
  std::filesystem::create_symlink(blob, file_);
  HubWeights weights = open();
  weights.check(gpt2_network(), true);
  EXPECT_EQ(read(weights, "blocks.0.attention.key.weight", {4, 4}).front(), number_at(6, 4));
}

TEST_F(HubFolders, EveryNumberInItsPlace) {
  for (const std::string dtype : {"F32", "BF16", "F16"}) {
    put_tensors(file_, gpt2_tensors(), dtype);
    HubWeights weights = open();
    const std::vector<HubTensor> network = gpt2_network();
    weights.check(network, true);
    // c_attn of block 0 is the 7th: [4, 12], the keys its columns 4 to 7, ours transposed.
    for (const DType kept : {DType::F32, DType::BF16}) {
      const bool addressable = (dtype == "F16") == (kept == DType::F32);
      const std::vector<float> key =
          read(weights, "blocks.0.attention.key.weight", {4, 4}, addressable, kept);
      EXPECT_EQ(read(weights, "blocks.1.norm1.weight", {4}, !addressable, kept)[3],
                number_at(16, 3));
      for (int64_t out = 0; out < 4; ++out) {
        for (int64_t in = 0; in < 4; ++in) {
          EXPECT_EQ(key[static_cast<size_t>(4 * out + in)], number_at(6, 12 * in + 4 + out));
        }
      }
    }
    EXPECT_EQ(read(weights, "blocks.0.attention.value.bias", {4})[1], number_at(7, 9));
    EXPECT_EQ(read(weights, "embedding.token.weight", {7, 4})[27], number_at(0, 27));
    // A shorter context takes the first positions.
    EXPECT_EQ(read(weights, "embedding.position.weight", {3, 4})[11], number_at(1, 11));
  }
}

// Queries, keys and values in one tensor, of which the queries have more rows.
TEST(HubParts, OfSeveralSizesMustAddUpToTheirTensor) {
  const std::string folder = PENSTOCK_HUB_GOLDENS "/phi3";
  HubWeights weights(folder, hub_family("phi3"), 4);
  std::vector<HubTensor> network = phi3_network();
  weights.check(network, false);
  const auto query =
      std::ranges::find(network, "blocks.0.attention.query.weight", &HubTensor::name);
  query->shape = {24, 8};
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { weights.check(network, false); }),
              HasSubstr("qkv_proj.weight\" is [32, 8], but config.json makes it [40, 8]"));
  UpdateDevice device;
  Tensor keys = device.empty({16, 8}, DType::F32, Purpose::Parameters);
  EXPECT_THAT(refusal(ErrorKind::Input,
                      [&] { weights.read("blocks.0.attention.key.weight", keys, device); }),
              HasSubstr("do they belong together?"));
}

// What is fetched ahead is no other number, and whoever reads in another order gets his, too.
// Of Granite's mixtures the folder has two matrices of each expert in one.
class HubMixtures : public testing::Test {
 protected:
  static constexpr const char* kIn = "model.layers.0.block_sparse_moe.input_linear.weight";
  [[nodiscard]] std::string refused(ErrorKind kind, const std::vector<TheirTensor>& theirs) {
    put_tensors(here_ / "model.safetensors", theirs);
    return refusal(kind, [&] { open().check(network_, false); });
  }
  [[nodiscard]] HubWeights open() const {
    return HubWeights(here_ / ".", hub_family("granitemoe"), 2);
  }

  TemporaryFolder here_;
  std::vector<HubTensor> network_ = {{"blocks.0.experts.gate.weight", {3, 2, 4}},
                                     {"blocks.0.experts.in.weight", {3, 2, 4}}};
};

TEST_F(HubMixtures, TakeEachExpertsMatricesApart) {
  put_tensors(here_ / "model.safetensors", {{kIn, {3, 4, 4}}});
  HubWeights weights = open();
  weights.check(network_, false);
  UpdateDevice device(true);
  for (size_t part = 0; part < 2; ++part) {
    Tensor tensor = device.empty({3, 2, 4}, DType::F32, Purpose::Parameters);
    weights.read(network_[part].name, tensor, device);
    for (int64_t i = 0; i < 24; ++i) {
      const int64_t theirs = i / 8 * 16 + static_cast<int64_t>(part) * 8 + i % 8;
      EXPECT_EQ(tensor.data<float>()[i], number_at(0, theirs)) << part << ' ' << i;
    }
  }
}

TEST_F(HubMixtures, AreRefusedByFileAndTensor) {
  const std::string other = "model.layers.0.block_sparse_moe.router.layer.weight";
  EXPECT_THAT(refused(ErrorKind::Data, {{other, {3, 4}}}),
              AllOf(HasSubstr("has no tensor \"" + std::string(kIn)), HasSubstr("config.json")));
  for (const std::vector<int64_t>& shape :
       std::vector<std::vector<int64_t>>{{3, 4, 5}, {2, 4, 4}, {3, 2, 4}, {12, 4}, {3, 4, 2, 2}}) {
    EXPECT_THAT(refused(ErrorKind::Input, {{kIn, shape}}),
                AllOf(HasSubstr("model.safetensors: tensor \"" + std::string(kIn)),
                      HasSubstr("is " + shape_text(shape)), HasSubstr("makes it [3, 4, 4]")));
  }
  EXPECT_THAT(refused(ErrorKind::Input, {{kIn, {3, 4, 4}}, {other, {3, 4}}}),
              AllOf(HasSubstr(other), HasSubstr("this model is not supported")));
  EXPECT_THAT(refused(ErrorKind::Input, {{kIn, {3, 4, 4}}, {"model.layers.1.norm.weight", {4}}}),
              AllOf(HasSubstr("\"model.layers.1.norm.weight\""),
                    HasSubstr("a layer behind the last that predicts further tokens")));
}

TEST_F(HubFolders, ReadAsExpectedOrOtherwise) {
  put_shards(9);
  for (const bool as_expected : {true, false}) {
    HubWeights weights = open();
    weights.expect(gpt2_network());
    if (!as_expected) (void)read(weights, "norm.weight", {4});
    for (const HubTensor& tensor : gpt2_network()) {
      const Shape shape(tensor.shape);
      HubWeights alone = open();
      EXPECT_EQ(read(weights, tensor.name, shape), read(alone, tensor.name, shape)) << tensor.name;
    }
  }
  HubWeights weights = open();
  weights.expect({{"norm.weight", {4}}, {"nobody.knows", {4}}});
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)read(weights, "norm.weight", {4}); }),
              HasSubstr("nobody.knows"));
}

TEST_F(HubFolders, InSeveralFilesAndWithoutPrefix) {
  put_shards(9);
  HubWeights weights = open();
  const std::vector<HubTensor> network = gpt2_network();
  weights.check(network, true);
  EXPECT_EQ(read(weights, "norm.bias", {4})[2], number_at(3, 2));
  const size_t last = gpt2_tensors().size() - 1;
  EXPECT_EQ(read(weights, "blocks.1.feed_forward.out.bias", {4})[2], number_at(last, 2));

  // A folder like the first one of GPT-2: bare names, and masks that nobody needs.
  std::filesystem::remove(here_ / index_file("model"));
  std::vector<TheirTensor> bare;
  for (const TheirTensor& tensor : gpt2_tensors()) {
    bare.push_back({replaced(tensor.name, "transformer.", ""), tensor.shape});
  }
  bare.push_back({"h.0.attn.bias", {1, 1, 5, 5}});
  bare.push_back({"lm_head.weight", {7, 4}, 0});
  put_tensors(file_, bare);
  HubWeights old = open();
  old.check(network, true);
  EXPECT_EQ(read(old, "norm.bias", {4})[2], number_at(3, 2));
}

TEST_F(HubFolders, RefusesFilesThatAreNotWhole) {
  put_shards(9);
  std::filesystem::remove(here_ / "two.safetensors");
  EXPECT_THAT(refused(ErrorKind::Data),
              AllOf(HasSubstr("names two.safetensors"), HasSubstr("download")));
  put_shards(9);
  put_tensors(here_ / "two.safetensors", {{"transformer.wte.weight", {7, 4}}});
  EXPECT_THAT(refused(ErrorKind::Data), AllOf(HasSubstr("two.safetensors has the tensor"),
                                              HasSubstr("places in one.safetensors")));
  std::filesystem::remove(here_ / index_file("model"));
  put_tensors(file_, gpt2_tensors());
  const std::string whole = contents(file_);
  put(file_, whole.substr(0, whole.size() - 5));
  EXPECT_THAT(refused(ErrorKind::Data), AllOf(HasSubstr("model.safetensors"), HasSubstr("cut")));
  std::filesystem::remove(file_);
  // Names that a header has twice are its reader's affair: safetensors_test.
  const std::string twice =
      R"({"weight_map": {"a": "x", "a": "y"}, "metadata": {"total_size": 1}})";
  put(here_ / index_file("model"), twice);
  EXPECT_THAT(refused(ErrorKind::Data), HasSubstr("\"a\""));
}

TEST_F(HubFolders, RefusesWhatDoesNotFitConfigJson) {
  auto tensors = gpt2_tensors();
  tensors[2].shape = {5};
  put_tensors(file_, tensors);
  EXPECT_THAT(refused(ErrorKind::Input),
              AllOf(HasSubstr("\"transformer.ln_f.weight\" is [5]"), HasSubstr("makes it [4]")));
  tensors = gpt2_tensors();
  tensors.pop_back();
  put_tensors(file_, tensors);
  EXPECT_THAT(refused(ErrorKind::Data), HasSubstr("no tensor \"transformer.h.1.mlp.c_proj.bias\""));
  tensors = gpt2_tensors();
  tensors.push_back({"transformer.h.2.ln_1.weight", {4}});
  put_tensors(file_, tensors);
  EXPECT_THAT(refused(ErrorKind::Input),
              AllOf(HasSubstr("no place"), HasSubstr("\"transformer.h.2.ln_1.weight\"")));
  put(file_, replaced(contents(file_), R"("F32")", R"("I32")"));
  EXPECT_THAT(refused(ErrorKind::Input), HasSubstr("of type I32"));
}

// A new save beside the index of an older one, whose files are still there.
TEST_F(HubFolders, TakeTheSingleFileBesideAnIndexAsTransformersDoes) {
  put_shards(9);
  put_tensors(file_, gpt2_tensors(), "F32", 1);
  HubWeights weights = open();
  weights.check(gpt2_network(), true);
  EXPECT_EQ(read(weights, "norm.bias", {4})[2], number_at(4, 2));
}

// Nobody reads the classifier of a network that ties it; another one is not dropped without a word.
TEST_F(HubFolders, CompareAHeadThatIsTied) {
  auto tensors = gpt2_tensors();
  tensors.push_back({"lm_head.weight", {7, 4}, 0});
  put_tensors(file_, tensors);
  open().check(gpt2_network(), true);
  tensors.back().number = 1;
  put_tensors(file_, tensors);
  const auto says =
      AllOf(HasSubstr("model.safetensors: \"lm_head.weight\" is another than "),
            HasSubstr("\"transformer.wte.weight\""), HasSubstr("tie_word_embeddings"));
  EXPECT_THAT(refused(ErrorKind::Input), says);
  tensors.back() = {"lm_head.weight", {6, 4}, 0};
  put_tensors(file_, tensors);
  EXPECT_THAT(refused(ErrorKind::Input), says);
}

TEST_F(HubFolders, NameWhatTheDownloadLeftInsteadOfAFile) {
  put(file_, "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n");
  EXPECT_THAT(
      refused(ErrorKind::Data),
      AllOf(HasSubstr("model.safetensors is a pointer of git-lfs"), HasSubstr("git lfs pull")));
  put_shards(9);
  std::filesystem::remove(file_);
  put(here_ / index_file("model"), "version https://git-lfs.github.com/spec/v1\n");
  EXPECT_THAT(refused(ErrorKind::Data), HasSubstr("index.json is a pointer of git-lfs"));
  std::filesystem::remove(here_ / index_file("model"));
  for (const char* const page : {"<!DOCTYPE html><html>", "\n <HTML lang=en>", "<!doctype HTML>"}) {
    put(file_, page);
    EXPECT_THAT(refused(ErrorKind::Data), HasSubstr("model.safetensors is a web page"));
    put(here_ / "config.json", page);
    EXPECT_THAT(refusal(ErrorKind::Data, [&] { (void)read_hub_config(folder_); }),
                HasSubstr("config.json is a web page"));
  }
}

TEST_F(HubFolders, NameANumberThatIsNotFinite) {
  for (const char* const dtype : {"F32", "BF16", "F16"}) {
    for (const char* const bits : {"nan", "infinite"}) {
      put_tensors(file_, gpt2_tensors(), dtype);
      std::string bytes = contents(file_);
      const size_t each = number_bytes(dtype);
      const SafetensorsFile file(file_, FileOwner::User);
      const size_t data = bytes.size() - file.tensors().back().end;
      const bool half = std::string(dtype) == "F16";
      const bool nan = std::string(bits) == "nan";
      const size_t place = data + file.find("transformer.ln_f.bias")->begin + 3 * each;
      bytes[place - 1] = static_cast<char>(half ? 0x7C : 0x7F);  // of the one before
      bytes[place - 2] = static_cast<char>((half ? 0 : 0x80) + (nan ? 1 : 0));
      put(file_, bytes);
      HubWeights weights = open();
      weights.check(gpt2_network(), true);
      EXPECT_EQ(read(weights, "norm.weight", {4}).size(), 4U) << "others are read";
      EXPECT_THAT(refusal(ErrorKind::Data, [&] { (void)read(weights, "norm.bias", {4}); }),
                  AllOf(HasSubstr("model.safetensors: tensor \"transformer.ln_f.bias\""),
                        HasSubstr(nan ? "NaN" : "infinite"), HasSubstr("at 2")));
    }
  }
}

TEST_F(HubFolders, NameWhatANetworkIsWrappedIn) {
  auto tensors = gpt2_tensors();
  for (TheirTensor& tensor : tensors) tensor.name = "_orig_mod." + tensor.name;
  put_tensors(file_, tensors);
  EXPECT_THAT(refused(ErrorKind::Data), HasSubstr("its names begin with \"_orig_mod.\": save"));
}

TEST_F(HubFolders, RefusesOtherFormsByName) {
  EXPECT_FALSE(has_hub_weights(folder_));
  EXPECT_THAT(refused(ErrorKind::Input), HasSubstr("has no weights"));
  put(here_ / "pytorch_model.bin", "");
  EXPECT_TRUE(has_hub_weights(folder_));
  EXPECT_THAT(refused(ErrorKind::Input),
              AllOf(HasSubstr("pytorch_model.bin alone"), HasSubstr("save_pretrained")));
}

}  // namespace
}  // namespace penstock

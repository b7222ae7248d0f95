// The safetensors format: bits there and back, the reference writer's very bytes, and every
// refusal.
#include "runtime/records/checkpoint/format/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "tests/unit/network/optimizer/update_device.h"
#include "tests/unit/records/checkpoint/bytes.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string with_length(const std::string& json, const std::string& data) {
  std::string bytes(8, '\0');
  const uint64_t length = json.size();
  std::memcpy(bytes.data(), &length, 8);
  return bytes + json + data;
}

Tensor numbered(Device& device, const Shape& shape, DType dtype, uint8_t first) {
  Tensor tensor = device.empty(shape, dtype, Purpose::Parameters);
  auto* bytes = static_cast<uint8_t*>(tensor.raw());
  for (size_t i = 0; i < tensor.size_bytes(); ++i) bytes[i] = static_cast<uint8_t>(first + 31 * i);
  return tensor;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.size_bytes() == b.size_bytes() && std::memcmp(a.raw(), b.raw(), a.size_bytes()) == 0;
}

TEST(Safetensors, RoundTripKeepsEveryBit) {
  const TemporaryFolder here;
  UpdateDevice device;
  const std::vector<NamedTensor> tensors = {
      {"b.weight", numbered(device, {3, 5}, DType::F32, 7)},
      {"a.half", numbered(device, {4}, DType::BF16, 201)},
      {"scalar", numbered(device, Shape{}, DType::F64, 3)},
      {"nothing", numbered(device, {0, 8}, DType::F32, 0)},
      {"bytes \"\\\n\xC3\xA9", numbered(device, {3}, DType::U8, 9)},
      {"ints", numbered(device, {2, 1, 2}, DType::I32, 100)}};
  const std::string path = here / "x.safetensors";
  const FileDigest digest = write_safetensors(path, tensors, {{"format", "pt"}}, &device);
  EXPECT_EQ(digest, digest_of(path));
  EXPECT_EQ(digest.size_bytes, contents(path).size());

  const SafetensorsFile file(path);
  EXPECT_EQ(file.tensors().size(), tensors.size());
  EXPECT_EQ(file.metadata().at("format"), "pt");
  for (const NamedTensor& named : tensors) {
    Tensor back = device.empty(named.tensor.shape(), named.tensor.dtype(), Purpose::Parameters);
    std::memset(back.raw(), 0xFF, back.size_bytes());
    file.read(named.name, back, device);
    EXPECT_TRUE(same_bits(named.tensor, back)) << named.name;
  }
  EXPECT_EQ(file.find("missing"), nullptr);
}

// Bytes made with the Python package safetensors 0.8 (serialize_file): the same input must
// give the same file.
TEST(Safetensors, WritesWhatTheReferenceWriterWrites) {
  const TemporaryFolder here;
  UpdateDevice device;
  Tensor floats = device.empty({2}, DType::F32, Purpose::Parameters);
  floats.data<float>()[0] = 1.0F;
  floats.data<float>()[1] = -2.0F;
  Tensor ints = device.empty({1, 1}, DType::I32, Purpose::Parameters);
  ints.data<int32_t>()[0] = 258;
  write_safetensors(here / "x", {{{"i", ints}, {"z", floats}, {"b", floats}}}, {{"format", "pt"}},
                    &device);
  const std::string json =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
      R"("z":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
      R"("i":{"dtype":"I32","shape":[1,1],"data_offsets":[16,20]}})";
  const std::string padded = json + std::string((8 - json.size() % 8) % 8, ' ');
  const std::string two("\x00\x00\x80\x3F\x00\x00\x00\xC0", 8);
  EXPECT_EQ(contents(here / "x"), with_length(padded, two + two + std::string("\x02\x01\0\0", 4)));
}

TEST(Safetensors, PassesDeviceMemoryThroughASmallBuffer) {
  const TemporaryFolder here;
  UpdateDevice device(false);
  const Tensor large = numbered(device, {(5 << 20) / 4 + 3}, DType::F32, 1);
  const Tensor small = numbered(device, {3}, DType::F32, 2);
  write_safetensors(here / "x", {{{"large", large}, {"small", small}}}, {}, &device);
  const SafetensorsFile file(here / "x");
  Tensor back = device.empty(large.shape(), DType::F32, Purpose::Parameters);
  file.read("large", back, device);
  EXPECT_TRUE(same_bits(large, back));
  EXPECT_LE(device.largest_copy(), size_t{4} << 20);
  EXPECT_GT(device.largest_copy(), 0U);
}

TEST(Safetensors, NamesWhatDoesNotFitTheReader) {
  const TemporaryFolder here;
  UpdateDevice device;
  write_safetensors(here / "x", {{{"w", numbered(device, {2, 3}, DType::F32, 1)}}}, {}, &device);
  const SafetensorsFile file(here / "x");
  Tensor turned = device.zeros({3, 2}, DType::F32, Purpose::Parameters);
  Tensor half = device.empty({2, 3}, DType::BF16, Purpose::Parameters);
  std::vector<std::byte> bytes(23);
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { file.read("w", turned, device); }),
              AllOf(HasSubstr("/x: tensor \"w\""), HasSubstr("[2, 3]"), HasSubstr("[3, 2]")));
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { file.read("w", half, device); }), HasSubstr("BF16"));
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { file.read("w", bytes); }), HasSubstr("24 bytes"));
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { file.read("v", bytes); }),
              HasSubstr("no tensor \"v\""));
}

TEST(Safetensors, WriterRefusesTwoOfOneName) {
  const TemporaryFolder here;
  UpdateDevice device;
  const Tensor tensor = numbered(device, {1}, DType::F32, 1);
  for (const char* name : {"", "__metadata__"}) {
    EXPECT_THROW(write_safetensors(here / "x", {{{name, tensor}}}, {}, &device), Error);
  }
  EXPECT_THAT(
      refusal(ErrorKind::Internal,
              [&] {
                write_safetensors(here / "x", {{{"w", tensor}, {"w", tensor}}}, {}, &device);
              }),
      HasSubstr("w"));
}

TEST(Safetensors, ReadsForeignFiles) {
  const TemporaryFolder here;
  put(here / "x",
      with_length(R"({"e":{"dtype":"I64","shape":[0],"data_offsets":[4,4]},)"
                  R"("q":{"dtype":"F4","shape":[3,2],"data_offsets":[4,7]},)"
                  R"("h":{"dtype":"F16","shape":[2],"data_offsets":[0,4],"more":1}}   )",
                  "abcdefg"));
  const SafetensorsFile file(here / "x");
  std::string bytes(3, '\0');
  file.read("q", std::as_writable_bytes(std::span(bytes)));
  EXPECT_EQ(bytes, "efg");
  EXPECT_EQ(file.find("h")->shape, std::vector<int64_t>{2});
  put(here / "empty", with_length("{}", ""));
  EXPECT_TRUE(SafetensorsFile(here / "empty").tensors().empty());
}

struct BadFile {
  const char* what;  // part of the message
  std::string bytes;
};

std::string one_tensor(const std::string& members, const std::string& data) {
  return with_length("{\"w\":{" + members + "}}", data);
}

std::string joined(const std::string& item, size_t times) {
  std::string list = item;
  for (size_t i = 1; i < times; ++i) list += "," + item;
  return list;
}

std::vector<BadFile> bad_files() {
  const std::string eight = "01234567";
  const std::string good = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  const auto pair = [&](const std::string& second) {
    return with_length("{\"v\":{" + good + "},\"w\":" + second + "}", eight + eight);
  };
  std::string huge = one_tensor(good, eight);
  huge.replace(0, 8, std::string(8, '\xFF'));
  std::string long_header = one_tensor(good, eight);
  long_header[3] = '\x07';  // 117 million bytes
  return {
      {"too short", "1234567"},
      {"claims a header", huge},
      {"claims a header", long_header},
      {"claims a header", one_tensor(good, "").substr(0, 40)},
      {"cut or damaged", one_tensor(good, "0123456")},
      {"cut or damaged", one_tensor(good, eight + "8")},
      {"not JSON", with_length("", "")},
      {"not JSON", with_length(" {}", "")},
      {"bad JSON", with_length("{\"w\":{" + good, eight)},
      {"bad JSON", with_length("{\"w\xFF\":{" + good + "}}", eight)},
      {"bad JSON", with_length("{} x", "")},
      {"twice", with_length("{\"w\":{" + good + "},\"w\":{" + good + "}}", eight)},
      {"twice", one_tensor(good + R"(,"dtype":"I32")", eight)},
      {"nested",
       one_tensor(good + ",\"x\":" + std::string(100000, '[') + std::string(100000, ']'), eight)},
      {"extents",
       one_tensor(R"("dtype":"F32","data_offsets":[0,8],"shape":[)" + joined("1", 100000) + "]",
                  eight)},
      {"overlaps", pair(R"({"dtype":"F32","shape":[3],"data_offsets":[4,16]})")},
      {"hole", with_length(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", eight)},
      {"end before", one_tensor(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])", eight)},
      {"tensor \"w\": its shape and dtype",
       one_tensor(R"("dtype":"F64","shape":[2],"data_offsets":[0,8])", eight)},
      {"shape and dtype", one_tensor(R"("dtype":"F4","shape":[15],"data_offsets":[0,8])", eight)},
      {"unknown", one_tensor(R"("dtype":"F33","shape":[2],"data_offsets":[0,8])", eight)},
      {"more elements",
       one_tensor(R"("dtype":"F32","shape":[4611686018427387904,4611686018427387904],)"
                  R"("data_offsets":[0,0])",
                  "")},
      {"extent", one_tensor(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])", eight)},
      {"extent", one_tensor(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])", eight)},
      {"extent",
       one_tensor(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8])", eight)},
      {"not a list", one_tensor(R"("dtype":"F32","shape":2,"data_offsets":[0,8])", eight)},
      {"offsets", one_tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0])", eight)},
      {"offsets", one_tensor(R"("dtype":"F32","shape":[2],"data_offsets":[-8,0])", eight)},
      {"offsets", one_tensor(R"("dtype":"F32","shape":[2])", eight)},
      {"dtype", one_tensor(R"("shape":[2],"data_offsets":[0,8])", eight)},
      {"shape", one_tensor(R"("dtype":"F32","data_offsets":[0,8])", eight)},
      {"not an object", pair("3")},
      {"__metadata__", with_length(R"({"__metadata__":{"a":1}})", "")},
      {"__metadata__", with_length(R"({"__metadata__":[]})", "")},
  };
}

TEST(Safetensors, RefusesEveryDamagedFileNamingIt) {
  const TemporaryFolder here;
  put(here / "x", one_tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])", "01234567"));
  EXPECT_NO_THROW(SafetensorsFile(here / "x"));
  for (const BadFile& bad : bad_files()) {
    put(here / "x", bad.bytes);
    EXPECT_THAT(refusal(ErrorKind::Data, [&] { const SafetensorsFile file(here / "x"); }),
                AllOf(HasSubstr(here / "x"), HasSubstr(bad.what)));
  }
}

// A header that is megabytes of empty lists was built as a tree of hundreds of megabytes first.
TEST(Safetensors, NamesTheByteWhereTheHeaderGoesWrong) {
  const TemporaryFolder here;
  const std::string start = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,)";
  put(here / "x", with_length(start + "8,9]}}", "01234567"));
  EXPECT_THAT(refusal(ErrorKind::Data, [&] { const SafetensorsFile file(here / "x"); }),
              HasSubstr("/x, byte " + std::to_string(8 + start.size() + 4) + ": tensor \"w\""));
  put(here / "x", with_length(R"({"w":[)" + joined("[]", 1 << 20) + "]}", ""));
  EXPECT_THAT(refusal(ErrorKind::Data, [&] { const SafetensorsFile file(here / "x"); }),
              HasSubstr("/x, byte 14: "));
}

TEST(Safetensors, RefusesAHeaderAboveTheCapEvenInAFileThatHoldsIt) {
  const TemporaryFolder here;
  std::string length(8, '\0');
  const uint64_t claimed = kMaximumHeaderBytes + 1;
  std::memcpy(length.data(), &claimed, 8);
  put(here / "x", length + "{");
  std::filesystem::resize_file(here / "x", 2 * kMaximumHeaderBytes);  // sparse
  EXPECT_THAT(refusal(ErrorKind::Data, [&] { const SafetensorsFile file(here / "x"); }),
              HasSubstr("claims a header"));
}

TEST(Safetensors, RefusesWhatIsNoFile) {
  const TemporaryFolder here;
  std::filesystem::create_directory(here / "directory");
  std::filesystem::create_symlink("good", here / "link");
  put(here / "good", with_length("{}", ""));
  EXPECT_NO_THROW(SafetensorsFile(here / "good"));
  ASSERT_EQ(mkfifo((here / "fifo").c_str(), 0600), 0);
  for (const char* name : {"missing", "directory", "link", "fifo"}) {
    EXPECT_THAT(refusal(ErrorKind::Data, [&] { const SafetensorsFile file(here / name); }),
                HasSubstr(here / name));
  }
}

}  // namespace
}  // namespace penstock

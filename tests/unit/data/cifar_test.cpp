// The real CIFAR-10 test archive, where it is at hand.
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>

#include "fixtures.h"
#include "runtime/data/datasets/images/images.h"

namespace penstock {
namespace {

TEST(Cifar, TestArchiveDecodes) {
  const std::string path = std::string(PENSTOCK_SHARED_DATA) + "/cifar10/test.tar.zst";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "needs CIFAR-10's test images as the archive " << path
                 << " (launch/examples/README.md says where they are; tar --zstd packs the folder)";
  }
  const Datasets sets = open_images({.train = path}, {32, 32, 3});
  EXPECT_EQ(sets.train->size(), 10000);
  EXPECT_THAT(sets.labels, testing::ElementsAre("airplane", "automobile", "bird", "cat", "deer",
                                                "dog", "frog", "horse", "ship", "truck"));
  std::vector<int> count(10);
  const auto start = std::chrono::steady_clock::now();
  double sum = 0;
  for (int64_t i = 0; i < sets.train->size(); ++i) {
    const auto sample = test::read_image(*sets.train, i);
    ++count.at(static_cast<size_t>(sample.label));
    for (float x : sample.image) sum += x;
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::cout << "decoded " << std::llround(10000 / seconds) << " images/s\n";
  EXPECT_THAT(count, testing::Each(1000));
  // The mean pixel of the test images is 0.4766; (0.4766 - 0.5) / 0.25.
  EXPECT_NEAR(sum / 10000 / 3072, -0.0937, 0.002);
}

}  // namespace
}  // namespace penstock

#include "fixtures.h"
#include "runtime/data/datasets/dataset.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using test::expect_error;

TEST(OpenDatasets, NamesTheKindsItKnows) {
  expect_error(ErrorKind::Input, {"data.kind = \"parquet\"", "text", "images", "synthetic"},
               [] { (void)open_datasets({.kind = "parquet"}, {}, 0); });
}

TEST(OpenDatasets, NamesTheKeyThatIsMissing) {
  for (const char* kind : {"text", "images"}) {
    expect_error(ErrorKind::Input, {"data.train", kind},
                 [&] { (void)open_datasets({.kind = kind}, {}, 0); });
  }
}

TEST(OpenDatasets, RefusesDataThatTheModelDoesNotRead) {
  expect_error(ErrorKind::Input, {"text", "context"},
               [] { (void)open_datasets({.kind = "text", .train = "x"}, {}, 0); });
  expect_error(ErrorKind::Input, {"images", "channels"},
               [] { (void)open_datasets({.kind = "images", .train = "x"}, {}, 0); });
}

TEST(OpenDatasets, OpensEachKind) {
  const TemporaryFolder folder;
  test::write_file(folder / "input.txt", "hello, world");
  SampleShape shape;
  shape.context = 4;
  EXPECT_EQ(open_datasets({.kind = "text", .train = folder / "input.txt"}, shape, 0).vocabulary,
            256);
  shape.image = {8, 8, 3};
  test::write_archive(folder / "set.tar",
                      {{"a/0.jpg", test::busy_jpeg(8, 8)}, {"b/0.jpg", test::busy_jpeg(8, 8)}},
                      test::Compression::None);
  EXPECT_EQ(open_datasets({.kind = "images", .train = folder / "set.tar"}, shape, 0).classes, 2);
  shape.input = {3};
  shape.classes = 5;
  EXPECT_EQ(open_datasets({.kind = "synthetic"}, shape, 0).classes, 5);
}

TEST(Batch, NamesAFieldThatIsNotThere) {
  const Batch batch{{"tokens"}, {Tensor{}}, 1};
  EXPECT_EQ(&batch.field("tokens"), batch.tensors.data());
  expect_error(ErrorKind::Internal, {"'labels'"}, [&] { (void)batch.field("labels"); });
}

}  // namespace
}  // namespace penstock

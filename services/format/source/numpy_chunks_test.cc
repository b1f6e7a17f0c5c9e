#include "services/format/source/numpy_chunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/format/source/npy_file.h"
#include "services/format/source/testing/source_files.h"

namespace espalier::format {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NumpyChunksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    array_.format = ChunkFormat::kNumpy;
    array_.files = {"0.npy", "1.npy"};
    rows_.count = 5;  // of the type; the rows of the chunks are unknown
    Write("0.npy", {1, 2, 3});
    Write("1.npy", {4, 5});
  }
  void Write(const std::string& file, std::vector<int64_t> values) {
    ASSERT_EQ(WriteNpy(folder_.path() + "/" + file, Tensor::FromVector(std::move(values))), Status());
  }
  // Collects the values of all chunks in values_. Calls `between` after the first chunk.
  Status Collect(const std::function<void()>& between) {
    return ForEachNumpyChunk(array_, rows_, {.directory = folder_.path()}, [&](size_t chunk, const Tensor& tensor) {
      for (const int64_t value : tensor.values<int64_t>()) values_.push_back(value);
      if (chunk == 0) between();
      return Status();
    });
  }

  const testing::TemporaryFolder folder_;
  ChunkedArray array_;
  ChunkedRows rows_;
  std::vector<int64_t> values_;
};

TEST_F(NumpyChunksTest, ComeInOrder) {
  EXPECT_EQ(Collect([] {}), Status());
  EXPECT_THAT(values_, ElementsAre(1, 2, 3, 4, 5));
}

// The caller has allocated memory for five rows.
TEST_F(NumpyChunksTest, RefusesFileThatChangesDuringRead) {
  for (const std::vector<int64_t>& other : {std::vector<int64_t>{4, 5, 6, 7}, std::vector<int64_t>{4}}) {
    SetUp();
    values_.clear();
    const Status changed = Collect([&] { Write("1.npy", other); });
    EXPECT_EQ(changed.code(), StatusCode::kAborted);
    EXPECT_THAT(changed.message(), HasSubstr("1.npy had 2 rows and now has " + std::to_string(other.size())));
    EXPECT_THAT(values_, ElementsAre(1, 2, 3));
  }
}

// The caller selects the code that reads all chunks by the dtype of the first one.
TEST_F(NumpyChunksTest, RefusesChangedFirstChunk) {
  const auto read_like = [&](const Tensor& like) {
    return ForEachNumpyChunk(
        array_, rows_, {.directory = folder_.path()}, [](size_t, const Tensor&) { return Internal("given"); }, like);
  };
  EXPECT_EQ(read_like(Tensor::Zeros(DType::kI64, {7})).message(), "given");
  const Status other_width = read_like(Tensor::Zeros(DType::kI64, {3, 2}));
  EXPECT_EQ(other_width.code(), StatusCode::kAborted);
  EXPECT_THAT(other_width.message(), HasSubstr("0.npy was I64 [3, 2] and now is I64 [3]: it changes while it is read"));
  EXPECT_EQ(read_like(Tensor::Zeros(DType::kI32, {3})).code(), StatusCode::kAborted);
}

}  // namespace
}  // namespace espalier::format

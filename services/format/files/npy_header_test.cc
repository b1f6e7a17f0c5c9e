#include "services/format/files/npy_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::format {
namespace {

using ::testing::HasSubstr;

TEST(NpyHeaderTest, FormatsHeadersAsNumpyDoes) {
  // The headers that numpy.save writes for numpy.zeros(3, '<f4') and numpy.zeros((), '|u1').
  EXPECT_EQ(*FormatNpyHeader(DType::kF32, {3}), std::string("\x93NUMPY\x01\x00v\x00", 10) +
                                                    "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }" +
                                                    std::string(60, ' ') + "\n");
  EXPECT_THAT(*FormatNpyHeader(DType::kU8, {}), HasSubstr("'shape': (), }"));
  EXPECT_THAT(*FormatNpyHeader(DType::kBF16, {2, 5}),
              HasSubstr("{'descr': '<u2', 'fortran_order': False, 'shape': (2, 5), }"));
}

TEST(NpyHeaderTest, RefusesShapeTooLargeForVersion1) {
  EXPECT_TRUE(FormatNpyHeader(DType::kF32, std::vector<int64_t>(21'000, 1)).ok());
  EXPECT_EQ(FormatNpyHeader(DType::kF32, std::vector<int64_t>(22'000, 1)).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace espalier::format

#include "services/trainer/model/torch_error.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace espalier::trainer {
namespace {

TEST(TorchErrorTest, DistinguishesOutOfMemoryFromErrors) {
  EXPECT_EQ(FromTorchError(std::bad_alloc()).code(), StatusCode::kResourceExhausted);
  const std::runtime_error of_allocator(
      "[enforce fail at alloc_cpu.cpp:66] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 4096 "
      "bytes. Error code 12 (Cannot allocate memory)");
  EXPECT_EQ(FromTorchError(of_allocator), ResourceExhausted(of_allocator.what()));
  const std::runtime_error of_shapes("mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)");
  EXPECT_EQ(FromTorchError(of_shapes), Internal(of_shapes.what()));
}

}  // namespace
}  // namespace espalier::trainer

// Tests the messages about a missing CUDA, and that a trainer then uses the CPU only if the document allows it.
#include "services/trainer/ops/cuda_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace espalier::trainer {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr CudaFacts Complete() {
  return {.driver_error = {}, .driver_version = 13000, .num_devices = 1, .torch_error = {}, .runtime_version = 13000};
}

TEST(CudaDeviceTest, ADriverOfTheSameMajorVersionIsNewEnough) {
  CudaFacts facts = Complete();
  EXPECT_TRUE(CheckCuda(facts).ok());
  facts.runtime_version = 13020;
  EXPECT_TRUE(CheckCuda(facts).ok());
}

TEST(CudaDeviceTest, EachMissingPartIsNamedWithItsRemedy) {
  CudaFacts old = Complete();
  old.driver_version = 12040;
  EXPECT_EQ(CheckCuda(old).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(
      CheckCuda(old).message(),
      "the NVIDIA driver is too old: it supports CUDA 12.4, torch needs CUDA 13.0; install a newer driver, or set "
      "device to CPU");
  CudaFacts without_driver;
  without_driver.driver_error = "libcuda.so.1: cannot open shared object file";
  EXPECT_EQ(CheckCuda(without_driver).message(),
            "no NVIDIA driver: libcuda.so.1: cannot open shared object file; install the driver, give the container a "
            "GPU, or set device to CPU");
  CudaFacts without_device = Complete();
  without_device.num_devices = 0;
  EXPECT_THAT(CheckCuda(without_device).message(), StartsWith("the NVIDIA driver shows no CUDA device"));
  CudaFacts without_torch = Complete();
  without_torch.torch_error = "libtorch_cuda.so: cannot open shared object file";
  EXPECT_THAT(CheckCuda(without_torch).message(), StartsWith("torch without CUDA: libtorch_cuda.so: cannot open"));
}

TEST(CudaDeviceTest, TheCpuNeedsNothing) {
  const Result<TrainerDevice> opened = OpenDevice(job::Device::kCpu, 3);
  ASSERT_TRUE(opened.ok());
  EXPECT_TRUE(opened->device.is_cpu());
  EXPECT_EQ(opened->name, "CPU");
  EXPECT_EQ(opened->why_cpu, "");
}

TEST(CudaDeviceTest, NcclSumsInAFixedOrderUnlessTheEnvironmentDiffers) {
  unsetenv("NCCL_ALGO");
  setenv("NCCL_PROTO", "LL", /*overwrite=*/1);
  ASSERT_TRUE(OpenDevice(job::Device::kAuto, 0).ok());
  EXPECT_STREQ(getenv("NCCL_ALGO"), "Ring");
  EXPECT_STREQ(getenv("NCCL_PROTO"), "LL");
  unsetenv("NCCL_ALGO");
  unsetenv("NCCL_PROTO");
}

// On a machine with a GPU and torch's CUDA, both settings open it. On others, Auto falls back to the CPU, and CUDA is
// refused.
TEST(CudaDeviceTest, AutoFallsBackExactlyWhereCudaIsRefused) {
  const Result<TrainerDevice> wanted = OpenDevice(job::Device::kCuda, 0), any = OpenDevice(job::Device::kAuto, 0);
  ASSERT_TRUE(any.ok());
  EXPECT_EQ(any->device.is_cuda(), wanted.ok());
  EXPECT_EQ(any->why_cpu.empty(), wanted.ok());
  if (wanted.ok()) return;
  EXPECT_THAT(wanted.status().message(), HasSubstr("spec.trainers.device: CUDA: " + any->why_cpu));
}

}  // namespace
}  // namespace espalier::trainer

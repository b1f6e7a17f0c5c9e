// The driver's library is opened first: it is present exactly on machines and in containers with an NVIDIA driver, and
// the attempt to open it costs nothing elsewhere. libtorch_cuda.so registers its kernels when it is opened; its
// libraries (cuBLAS and others) are in the nvidia-* wheels beside torch, where the search path of libtorch_cuda.so
// finds them.
#include "services/trainer/ops/cuda_device.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>

namespace espalier::trainer {
namespace {

// The deterministic mode of cuBLAS (https://docs.nvidia.com/cuda/cublas/#results-reproducibility). cuBLAS reads the
// variable when the first matrix product creates a handle.
constexpr const char* kWorkspaceVariable = "CUBLAS_WORKSPACE_CONFIG";
constexpr const char* kWorkspace = ":4096:8";
// These settings give NCCL a fixed order of sums (nccl_collective.h). NCCL reads the variables when it creates a
// communicator.
constexpr const char* kNcclAlgorithmVariable = "NCCL_ALGO";
constexpr const char* kNcclAlgorithm = "Ring";
constexpr const char* kNcclProtocolVariable = "NCCL_PROTO";
constexpr const char* kNcclProtocol = "Simple";

// Returns the error of the last dlopen.
std::string GetLoaderError() {
  const char* const error = dlerror();
  return error == nullptr ? "unknown error" : error;
}

template <class Function>
Function* FindFunction(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

std::string FormatVersion(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Sets the facts that the driver reports. The driver's functions return 0 on success.
void QueryDriver(void* driver, CudaFacts* facts) {
  auto* const initialize = FindFunction<int(unsigned)>(driver, "cuInit");
  auto* const get_version = FindFunction<int(int*)>(driver, "cuDriverGetVersion");
  auto* const count_devices = FindFunction<int(int*)>(driver, "cuDeviceGetCount");
  if (initialize == nullptr || get_version == nullptr || count_devices == nullptr) {
    facts->driver_error = "libcuda.so.1 lacks functions of the driver";
    return;
  }
  if (get_version(&facts->driver_version) != 0) facts->driver_version = 0;
  if (initialize(0) != 0 || count_devices(&facts->num_devices) != 0) facts->num_devices = 0;
}

void OpenTorchCuda(CudaFacts* facts) {
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    facts->torch_error = GetLoaderError();
    return;
  }
  auto* const get_runtime = FindFunction<int(int*)>(RTLD_DEFAULT, "cudaRuntimeGetVersion");
  if (get_runtime == nullptr || get_runtime(&facts->runtime_version) != 0) facts->runtime_version = 0;
}

// Opens the driver's library and, if the driver shows a device, torch's. Sets `driver` to the handle of the driver's
// library, or to null.
CudaFacts OpenCuda(void** driver) {
  CudaFacts facts;
  *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (*driver == nullptr) {
    facts.driver_error = GetLoaderError();
    return facts;
  }
  QueryDriver(*driver, &facts);
  if (facts.driver_error.empty() && facts.num_devices > 0) OpenTorchCuda(&facts);
  return facts;
}

std::string GetDeviceName(void* driver, int number) {
  auto* const get_device = FindFunction<int(int*, int)>(driver, "cuDeviceGet");
  auto* const get_name = FindFunction<int(char*, int, int)>(driver, "cuDeviceGetName");
  int device = 0;
  char name[128] = "";
  if (get_device == nullptr || get_name == nullptr || get_device(&device, number) != 0) return "CUDA";
  return get_name(name, sizeof(name), device) != 0 ? "CUDA" : std::string("CUDA ") + name;
}

}  // namespace

Status CheckCuda(const CudaFacts& facts) {
  if (!facts.driver_error.empty()) {
    return FailedPrecondition("no NVIDIA driver: " + facts.driver_error +
                              "; install the driver, give the container a GPU, or set device to CPU");
  }
  if (facts.num_devices == 0) {
    return FailedPrecondition(
        "the NVIDIA driver shows no CUDA device to this process: give it a GPU (see nvidia-smi "
        "and CUDA_VISIBLE_DEVICES), or set device to CPU");
  }
  if (!facts.torch_error.empty()) {
    return FailedPrecondition(
        "torch without CUDA: " + facts.torch_error +
        "; use a torch with CUDA and its nvidia-* packages (the image with CUDA has them), or set "
        "device to CPU");
  }
  // Only major versions count: a driver for CUDA 12.2, for example, also runs programs built with CUDA 12.8.
  if (facts.driver_version / 1000 < facts.runtime_version / 1000) {
    return FailedPrecondition("the NVIDIA driver is too old: it supports CUDA " + FormatVersion(facts.driver_version) +
                              ", torch needs CUDA " + FormatVersion(facts.runtime_version) +
                              "; install a newer driver, or set device to CPU");
  }
  return Status();
}

Result<TrainerDevice> OpenDevice(job::Device wanted, uint32_t rank) {
  TrainerDevice opened;
  if (wanted == job::Device::kCpu) return opened;
  setenv(kWorkspaceVariable, kWorkspace, /*overwrite=*/0);
  setenv(kNcclAlgorithmVariable, kNcclAlgorithm, /*overwrite=*/0);
  setenv(kNcclProtocolVariable, kNcclProtocol, /*overwrite=*/0);
  void* driver = nullptr;
  CudaFacts facts = OpenCuda(&driver);
  Status usable = CheckCuda(facts);
  if (usable.ok() && !torch::cuda::is_available()) {
    usable = FailedPrecondition("torch finds no CUDA device that it supports, although the driver shows " +
                                std::to_string(facts.num_devices) + ": set device to CPU");
  }
  if (!usable.ok() && wanted == job::Device::kCuda) return usable.While("spec.trainers.device: CUDA");
  if (!usable.ok()) {
    opened.why_cpu = usable.message();
    return opened;
  }
  const auto number = static_cast<int>(rank % static_cast<uint32_t>(facts.num_devices));
  opened.device = torch::Device(torch::kCUDA, static_cast<torch::DeviceIndex>(number));
  opened.name = GetDeviceName(driver, number);
  return opened;
}

}  // namespace espalier::trainer

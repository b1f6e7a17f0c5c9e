// The device on which a trainer computes. Programs link only libtorch_cpu; CUDA becomes available at run time, when
// libtorch_cuda.so is opened.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>

#include "services/base/status.h"
#include "services/job/dist_training.h"

namespace espalier::trainer {

// The parts of CUDA that this process has found.
struct CudaFacts {
  std::string driver_error;  // why the driver's library (libcuda.so.1) cannot be used; empty: it is open
  int driver_version = 0;    // newest version of CUDA that the driver supports: 1000 * major + 10 * minor
  int num_devices = 0;       // number of devices that the driver shows to this process
  std::string torch_error;   // why libtorch_cuda.so cannot be opened; empty: it is open, or there is no driver or GPU
  int runtime_version = 0;   // version of CUDA that torch needs, encoded as driver_version; 0: unknown
};

// Returns OK if, by these facts, torch can compute on a CUDA device. FailedPrecondition: states what is missing and the
// remedy.
Status CheckCuda(const CudaFacts& facts);

struct TrainerDevice {
  torch::Device device = torch::kCPU;
  std::string name = "CPU";  // recorded with results: "CPU", or for example "CUDA NVIDIA H200"
  std::string why_cpu;       // why job::Device::kAuto selected the CPU; empty otherwise
};

// Returns the device of a rank: rank r uses device r modulo the number of devices that its process can see. Unless
// `wanted` is the CPU, opens CUDA's libraries and sets environment variables for reproducible sums. Call it once, while
// no other thread reads the environment, and before any other use of torch: if torch is used first, it decides that
// there is no CUDA. FailedPrecondition: `wanted` is CUDA, and torch cannot compute on a CUDA device here.
Result<TrainerDevice> OpenDevice(job::Device wanted, uint32_t rank);

}  // namespace espalier::trainer

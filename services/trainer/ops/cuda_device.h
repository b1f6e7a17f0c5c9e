// The device on which a trainer computes. Programs link only libtorch_cpu; CUDA becomes available at run time, when
// libtorch_cuda.so is opened.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>

#include "services/base/status.h"
#include "services/job/dist_training.h"

namespace espalier::trainer {

// What a process can use of CUDA.
struct CudaFacts {
  std::string driver_error;  // of opening the driver's library (libcuda.so.1); empty: it is open
  int driver_version = 0;    // newest version of CUDA that the driver supports: 1000 * major + 10 * minor
  int num_devices = 0;       // that the driver shows to this process
  std::string torch_error;   // of opening libtorch_cuda.so; empty: it is open
  int runtime_version = 0;   // version of CUDA that torch needs, as driver_version; 0: unknown
};

// Returns OK if torch can compute on a device with CUDA. FailedPrecondition: states what is missing and the remedy.
Status CheckCuda(const CudaFacts& facts);

struct TrainerDevice {
  torch::Device device = torch::kCPU;
  std::string name = "CPU";  // recorded with results: "CPU", or "CUDA NVIDIA H200"
  std::string why_cpu;       // for job::Device::kAuto on the CPU: the reason; empty otherwise
};

// Returns the device of a rank. With several devices on one machine, rank r has device r modulo their number. Opens
// CUDA's libraries unless `wanted` is the CPU. Call it once, while no other thread reads the environment, and before
// any other use of torch: if torch is used first, it decides that there is no CUDA. FailedPrecondition: `wanted` is
// CUDA, and torch cannot compute on a CUDA device here.
Result<TrainerDevice> OpenDevice(job::Device wanted, uint32_t rank);

}  // namespace espalier::trainer

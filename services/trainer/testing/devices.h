// The devices on which tests of operations run.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "services/trainer/ops/cuda_device.h"

namespace espalier::trainer {

// Returns the CPU, and a GPU if CUDA can be used. CUDA cannot be used if the process has asked torch for CUDA before.
inline const std::vector<torch::Device>& TestDevices() {
  static const std::vector<torch::Device> devices = [] {
    std::vector<torch::Device> found = {torch::Device(torch::kCPU)};
    const Result<TrainerDevice> opened = OpenDevice(job::Device::kAuto, 0);
    if (opened.ok() && opened->device.is_cuda()) found.push_back(opened->device);
    return found;
  }();
  return devices;
}

}  // namespace espalier::trainer

// Settings of arithmetic on which results may depend. They are set once at startup, recorded with results, and compared
// when a run resumes.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::trainer {

struct MathSettings {
  int threads = 1;             // intra-op threads, BLAS included
  std::string torch_version;   // "2.11.0"
  std::string cpu_capability;  // ATen's kernels: "AVX2", "AVX512", "DEFAULT"
  std::string blas;            // libraries of matrix products: "oneDNN 3.10.2, oneMKL 2024.2"
  // The code paths of these libraries: oneDNN's as a value of ONEDNN_MAX_CPU_ISA, oneMKL's as a value of MKL_CBWR.
  std::string blas_kernel;     // "oneDNN AVX512_CORE, oneMKL AVX512,STRICT"
  std::string device = "CPU";  // TrainerDevice::name, which the caller sets

  friend bool operator==(const MathSettings&, const MathSettings&) = default;
};

// Sets the thread counts of torch, oneDNN and oneMKL, deterministic algorithms, flushing of denormals, an allocator
// setting that keeps large buffers mapped between steps, and oneMKL's code path. TorchScript modules of users
// multiply with oneMKL; built-in models use oneDNN (matrix_product.h). The variable MKL_CBWR requests oneMKL's path. If
// it is not set, this function sets it: on processors with AVX-512 to "AVX512,STRICT", on others to "AVX2,STRICT".
// oneMKL chooses a path itself if it does not support the request or the processor is not Intel's. oneDNN uses AVX-512
// if the processor has it, unless ONEDNN_MAX_CPU_ISA limits it. Products on different code paths differ in their last
// bits. Call this function once, before any tensor is created and while no other thread reads the environment.
// InvalidArgument: threads < 1.
Result<MathSettings> SetUpMath(int threads);

}  // namespace espalier::trainer

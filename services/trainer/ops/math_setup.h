// Everything about arithmetic that results may depend on: set once at start, reported with results, compared
// when a run is resumed.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::trainer {

struct MathSettings {
  int threads = 1;             // intra-op threads, BLAS included
  std::string torch_version;   // "2.11.0"
  std::string cpu_capability;  // ATen's kernels: "AVX2", "AVX512", "DEFAULT"
  std::string blas;            // "oneMKL 2024.2", or "unknown"
  std::string blas_kernel;     // oneMKL's code path in effect, in the words of MKL_CBWR: "AVX512,STRICT"

  friend bool operator==(const MathSettings&, const MathSettings&) = default;
};

// Sets thread counts (torch's and oneMKL's), deterministic algorithms, oneMKL's code path (MKL_CBWR, unless it is set:
// AVX512,STRICT on processors with AVX-512, AVX2,STRICT on others; products differ in their last bits between the two),
// no denormals' slow path, and an allocator setting that keeps big buffers mapped between steps. Call once, before any
// tensor is made and while no other thread reads the environment. InvalidArgument for threads < 1.
Result<MathSettings> SetUpMath(int threads);

}  // namespace espalier::trainer

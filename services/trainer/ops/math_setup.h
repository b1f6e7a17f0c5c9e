// Everything about arithmetic that results may depend on: set once at start, reported with results, compared
// when a run is resumed.
#pragma once

#include <string>

#include "services/base/status.h"

namespace espalier::trainer {

struct MathSettings {
  int threads = 1;             // intra-op threads, BLAS included
  std::string torch_version;   // "1.13.1"
  std::string cpu_capability;  // ATen's kernels: "AVX2", "AVX512", "DEFAULT"
  std::string blas;            // "OpenBLAS 0.3.21", or "unknown"
  std::string blas_kernel;     // "Cooperlake", or "unknown"

  friend bool operator==(const MathSettings&, const MathSettings&) = default;
};

// Sets thread counts (torch's and OpenBLAS's), deterministic algorithms, no denormals' slow path, and an allocator
// setting that keeps big buffers mapped between steps. Call once, before any tensor is made.
// InvalidArgument for threads < 1.
Result<MathSettings> SetUpMath(int threads);

// A sentence where the reference BLAS would make training 20 times slower than it need be; empty otherwise.
std::string BlasWarning(const MathSettings& settings);

}  // namespace espalier::trainer

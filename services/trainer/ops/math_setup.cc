#include "services/trainer/ops/math_setup.h"

#include <ATen/Version.h>
#include <malloc.h>
#include <stdlib.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <algorithm>
#include <cctype>

// oneMKL's mkl_cbwr_get under the name that libtorch_cpu exports; null if libtorch is built without oneMKL.
extern "C" int mkl_serv_cbwr_get(int option) __attribute__((weak));

namespace espalier::trainer {
namespace {

// Returns the text after `label` in torch's description of its configuration, up to `end`; "unknown" if the description
// does not contain the label.
std::string FindInConfig(const std::string& label, char end) {
  const std::string config = at::show_config();
  const size_t begin = config.find(label);
  if (begin == std::string::npos) return "unknown";
  const size_t value = begin + label.size();
  return config.substr(value, config.find(end, value) - value);
}

std::string DescribeMatrixLibraries() {
  // at::show_config() contains:
  // "Intel(R) MKL-DNN v3.10.2 (Git Hash f1d471933dc852f956fd05389f9313c7148783d5)"
  // "Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 for Intel(R) 64 architecture ..."
  return "oneDNN " + FindInConfig("MKL-DNN v", ' ') + ", oneMKL " + FindInConfig("Math Kernel Library Version ", '-');
}

bool HasAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

// Returns the instruction set of oneDNN's F32 products: the widest that the processor has and ONEDNN_MAX_CPU_ISA allows
// (https://uxlfoundation.github.io/oneDNN/dev_guide_cpu_dispatcher_control.html). oneDNN ignores unknown values of the
// variable. libtorch does not report oneDNN's choice.
std::string OneDnnCodePath() {
  const char* limit = getenv("ONEDNN_MAX_CPU_ISA");
  std::string name = limit == nullptr ? "" : limit;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  if (name == "SSE41" || name == "AVX") return name;
  return HasAvx512() && !name.starts_with("AVX2") ? "AVX512_CORE" : "AVX2";
}

// Returns the code path that oneMKL has chosen, as a value of MKL_CBWR. oneMKL silently uses AUTO instead of the
// variable's value if it does not know the value, if the processor does not support it, or if the processor is not
// Intel's.
std::string OneMklCodePath() {
  constexpr int kEverything = ~0, kStrict = 0x10000;  // MKL_CBWR_ALL, MKL_CBWR_STRICT of mkl_types.h
  if (mkl_serv_cbwr_get == nullptr) return "unknown";
  const int value = mkl_serv_cbwr_get(kEverything);
  const std::string strict = (value & kStrict) != 0 ? ",STRICT" : "";
  switch (value & ~kStrict) {
    case 1: return "OFF";  // the process has multiplied matrices before MKL_CBWR was set
    case 2: return "AUTO";
    case 3: return "COMPATIBLE";
    case 10: return "AVX2" + strict;
    case 12: return "AVX512" + strict;
    case 14: return "AVX512_E1" + strict;
    default: return "branch " + std::to_string(value & ~kStrict) + strict;
  }
}

}  // namespace

Result<MathSettings> SetUpMath(int threads) {
  if (threads < 1) return InvalidArgument("trainers.threads must be at least 1, not " + std::to_string(threads));
  // oneMKL reads MKL_CBWR at its first call and keeps the code path from then on.
  const char* code_path = getenv("MKL_CBWR");
  if (code_path == nullptr || *code_path == '\0') {
    setenv("MKL_CBWR", HasAvx512() ? "AVX512,STRICT" : "AVX2,STRICT", /*overwrite=*/1);
  }
  // A step's buffers take hundreds of megabytes. By default glibc maps and unmaps each of them, and the page faults
  // cost as much as the arithmetic. Memory from the heap stays mapped for the next step.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);

  at::set_num_threads(threads);  // also sets oneMKL's number of threads
  // The interop pool is not used. If it has been started, torch rejects the call, which is harmless.
  try {
    at::set_num_interop_threads(1);
  } catch (const c10::Error&) {
  }
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  // In deterministic mode torch fills every new tensor with NaN by default. Espalier does not need this: it writes to
  // uninitialized tensors before it reads them.
  at::globalContext().setDeterministicFillUninitializedMemory(false);
  at::globalContext().setFlushDenormal(true);
  // Makes cuBLAS add up the parts of a BF16 product in F32, as oneDNN does.
  at::globalContext().setAllowBF16ReductionCuBLAS(false);
  return MathSettings{.threads = threads,
                      .torch_version = TORCH_VERSION,
                      .cpu_capability = FindInConfig("CPU capability usage: ", '\n'),
                      .blas = DescribeMatrixLibraries(),
                      .blas_kernel = "oneDNN " + OneDnnCodePath() + ", oneMKL " + OneMklCodePath()};
}

}  // namespace espalier::trainer

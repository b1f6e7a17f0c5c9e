#include "services/trainer/ops/math_setup.h"

#include <ATen/Version.h>
#include <dlfcn.h>
#include <malloc.h>
#include <torch/torch.h>
#include <torch/version.h>

namespace espalier::trainer {
namespace {

// OpenBLAS's own functions, found at run time: any BLAS may stand behind libblas.so.3.
template <class Function>
Function* BlasFunction(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

std::string BlasName() {
  auto* config = BlasFunction<char*()>("openblas_get_config");
  if (config == nullptr) return "unknown";
  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
  const std::string text = config();
  const size_t name_end = text.find(' ');
  return name_end == std::string::npos ? text : text.substr(0, text.find(' ', name_end + 1));
}

// Old and new torch have no common function for it, but both print a line.
std::string CpuCapability() {
  const std::string label = "CPU capability usage: ";
  const std::string config = at::show_config();
  const size_t begin = config.find(label);
  if (begin == std::string::npos) return "unknown";
  return config.substr(begin + label.size(), config.find('\n', begin) - begin - label.size());
}

std::string BlasKernel() {
  auto* core_name = BlasFunction<char*()>("openblas_get_corename");
  return core_name == nullptr ? "unknown" : core_name();
}

}  // namespace

Result<MathSettings> SetUpMath(int threads) {
  if (threads < 1) return InvalidArgument("trainers.threads must be at least 1, not " + std::to_string(threads));
  // A step's buffers are hundreds of megabytes. By default glibc maps and unmaps each of them, and the page faults cost
  // as much as the arithmetic; from the heap, the next step finds them warm.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);

  at::set_num_threads(threads);
  // The interop pool is not used; torch refuses the call once anything started it, which is harmless.
  try {
    at::set_num_interop_threads(1);
  } catch (const c10::Error&) {
  }
  if (auto* set_threads = BlasFunction<void(int)>("openblas_set_num_threads")) set_threads(threads);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  at::globalContext().setFlushDenormal(true);
  return MathSettings{.threads = threads,
                      .torch_version = TORCH_VERSION,
                      .cpu_capability = CpuCapability(),
                      .blas = BlasName(),
                      .blas_kernel = BlasKernel()};
}

std::string BlasWarning(const MathSettings& settings) {
  if (settings.blas != "unknown") return "";
  return "no OpenBLAS behind libblas.so.3: matrix products may run 20 times slower than they could (Debian: install "
         "libopenblas0-openmp)";
}

}  // namespace espalier::trainer

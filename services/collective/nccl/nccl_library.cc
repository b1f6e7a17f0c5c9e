#include "services/collective/nccl/nccl_library.h"

#include <dlfcn.h>

namespace espalier::collective {
namespace {

constexpr const char* kRemedy = "; use a torch with CUDA and its nvidia-* packages";

Result<void*> OpenLibrary(const std::string& path) {
  if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); library != nullptr) return library;
  const char* const error = dlerror();
  return FailedPrecondition("opening NCCL: " + std::string(error == nullptr ? path : error) + kRemedy);
}

template <class Function>
Status FindFunction(void* library, const std::string& where, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
  if (*function != nullptr) return Status();
  return FailedPrecondition("opening NCCL: " + where + " has no function " + name + kRemedy);
}

Status FindFunctions(void* nccl, void* cuda, const NcclPaths& paths, NcclApi* api) {
  const std::string cuda_name = paths.cuda_runtime.empty() ? "this process" : paths.cuda_runtime;
  RETURN_IF_ERROR(FindFunction(nccl, paths.nccl, "ncclGetVersion", &api->ncclGetVersion));
  RETURN_IF_ERROR(FindFunction(nccl, paths.nccl, "ncclGetUniqueId", &api->ncclGetUniqueId));
  RETURN_IF_ERROR(FindFunction(nccl, paths.nccl, "ncclCommInitRankConfig", &api->ncclCommInitRankConfig));
  RETURN_IF_ERROR(FindFunction(nccl, paths.nccl, "ncclCommGetAsyncError", &api->ncclCommGetAsyncError));
  RETURN_IF_ERROR(FindFunction(nccl, paths.nccl, "ncclAllReduce", &api->ncclAllReduce));
  RETURN_IF_ERROR(FindFunction(nccl, paths.nccl, "ncclCommAbort", &api->ncclCommAbort));
  RETURN_IF_ERROR(FindFunction(nccl, paths.nccl, "ncclGetErrorString", &api->ncclGetErrorString));
  RETURN_IF_ERROR(FindFunction(cuda, cuda_name, "cudaSetDevice", &api->cudaSetDevice));
  RETURN_IF_ERROR(FindFunction(cuda, cuda_name, "cudaStreamQuery", &api->cudaStreamQuery));
  RETURN_IF_ERROR(FindFunction(cuda, cuda_name, "cudaDeviceGetPCIBusId", &api->cudaDeviceGetPCIBusId));
  return FindFunction(cuda, cuda_name, "cudaGetErrorString", &api->cudaGetErrorString);
}

// Versions before 2.9 are encoded as 1000 major + 100 minor + patch, later ones as 10000 major + 100 minor + patch.
std::string VersionText(int version) {
  if (version < 10000) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 100) + "." +
           std::to_string(version % 100);
  }
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

std::string ErrorText(const std::string& what, const char* text, const std::string& number) {
  return what + ": " + (text == nullptr ? "unknown error" : text) + " (" + number + ")";
}

}  // namespace

Result<NcclLibrary> OpenNccl(const NcclPaths& paths) {
  ASSIGN_OR_RETURN(void* const nccl, OpenLibrary(paths.nccl));
  void* cuda = RTLD_DEFAULT;
  if (!paths.cuda_runtime.empty()) {
    ASSIGN_OR_RETURN(cuda, OpenLibrary(paths.cuda_runtime));
  }
  NcclLibrary library;
  // The version is checked before the other functions are looked up, because an older library may lack them.
  RETURN_IF_ERROR(FindFunction(nccl, paths.nccl, "ncclGetVersion", &library.api.ncclGetVersion));
  int version = 0;
  if (library.api.ncclGetVersion(&version) != kNcclSuccess) {
    return FailedPrecondition("opening NCCL: " + paths.nccl + " does not report its version" + kRemedy);
  }
  if (version < kOldestNcclVersion) {
    return FailedPrecondition("opening NCCL: " + paths.nccl + " has the version " + VersionText(version) +
                              ", expected " + VersionText(kOldestNcclVersion) + " or newer" + kRemedy);
  }
  library.version = VersionText(version);
  RETURN_IF_ERROR(FindFunctions(nccl, cuda, paths, &library.api));
  return library;
}

Status ToStatus(const NcclApi& api, NcclResult result, const std::string& what) {
  if (result == kNcclSuccess) return Status();
  const std::string message =
      ErrorText(what, api.ncclGetErrorString(result), "NCCL's result " + std::to_string(static_cast<int>(result)));
  return result == kNcclRemoteError || result == kNcclSystemError ? Unavailable(message) : Internal(message);
}

Status ToStatus(const NcclApi& api, CudaError error, const std::string& what) {
  if (error == kCudaSuccess) return Status();
  return Internal(
      ErrorText(what, api.cudaGetErrorString(error), "CUDA's error " + std::to_string(static_cast<int>(error))));
}

}  // namespace espalier::collective

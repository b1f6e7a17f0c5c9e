// Opens NCCL at run time: it is part of torch's wheels with CUDA, and builds do not link it.
#pragma once

#include <string>

#include "services/base/status.h"
#include "services/collective/nccl/nccl_api.h"

namespace espalier::collective {

struct NcclPaths {
  // Name or path for dlopen. A process that has opened libtorch_cuda.so has NCCL open under the default name.
  std::string nccl = "libnccl.so.2";
  // Name or path of CUDA's runtime. Empty: torch has already opened it, with global symbols.
  std::string cuda_runtime;
};

struct NcclLibrary {
  NcclApi api;
  std::string version;  // "2.28.9"
};

// Opens the libraries, which stay open. FailedPrecondition: one is missing, lacks a function, or is too old.
Result<NcclLibrary> OpenNccl(const NcclPaths& paths);

// Return OK for success. Otherwise the message is "`what`: " followed by the library's text for the result and its
// number. Unavailable: the connection to another rank was lost (kNcclRemoteError, kNcclSystemError). Internal: every
// other result.
Status ToStatus(const NcclApi& api, NcclResult result, const std::string& what);
Status ToStatus(const NcclApi& api, CudaError error, const std::string& what);

}  // namespace espalier::collective

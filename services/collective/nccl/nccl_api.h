// The parts of NCCL and of CUDA's runtime that Espalier calls. Builds do not include their headers: the types and
// numbers below are copied from nccl.h 2.28.9 and cuda_runtime_api.h 13.0. Later versions keep them; NcclConfig states
// the version of its own layout.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

namespace espalier::collective {

// ncclResult_t. NCCL may return other values.
enum NcclResult : int {
  kNcclSuccess = 0,
  kNcclUnhandledCudaError = 1,
  kNcclSystemError = 2,
  kNcclInternalError = 3,
  kNcclInvalidArgument = 4,
  kNcclInvalidUsage = 5,
  kNcclRemoteError = 6,
  kNcclInProgress = 7,
};

enum NcclDataType : int { kNcclFloat32 = 7 };      // ncclDataType_t
enum NcclOperation : int { kNcclSum = 0 };         // ncclRedOp_t
using NcclHandle = struct NcclCommunicatorState*;  // ncclComm_t
using CudaStream = struct CudaStreamState*;        // cudaStream_t; null: the default stream of the current device

// ncclUniqueId: how the ranks of a communicator find each other. Rank 0 makes it.
struct NcclUniqueId {
  char internal[128] = {};
};

// ncclConfig_t as of version 2.17. NCCL reads `size` bytes and uses its defaults for the fields that later versions
// have added.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned int magic = 0xcafebeef;
  unsigned int version = 21700;
  int blocking = 0;  // 0: functions return kNcclInProgress instead of waiting
  int cga_cluster_size = INT_MIN;
  int min_ctas = INT_MIN;
  int max_ctas = INT_MIN;
  const char* net_name = nullptr;
};
static_assert(sizeof(NcclConfig) == 40, "NcclConfig has no padding");

// The oldest version of NCCL that has the fields of NcclConfig: 10000 * major + 100 * minor + patch.
inline constexpr int kOldestNcclVersion = 21700;

// cudaError_t. CUDA returns many more values.
enum CudaError : int { kCudaSuccess = 0, kCudaNotReady = 600 };

// The functions of the loaded NCCL and CUDA runtime libraries, by their names there.
struct NcclApi {
  NcclResult (*ncclGetVersion)(int* version) = nullptr;
  NcclResult (*ncclGetUniqueId)(NcclUniqueId* id) = nullptr;
  NcclResult (*ncclCommInitRankConfig)(NcclHandle* communicator, int num_ranks, NcclUniqueId id, int rank,
                                       NcclConfig* config) = nullptr;
  NcclResult (*ncclCommGetAsyncError)(NcclHandle communicator, NcclResult* state) = nullptr;
  NcclResult (*ncclAllReduce)(const void* from, void* to, size_t count, NcclDataType type, NcclOperation operation,
                              NcclHandle communicator, CudaStream stream) = nullptr;
  NcclResult (*ncclCommAbort)(NcclHandle communicator) = nullptr;
  const char* (*ncclGetErrorString)(NcclResult result) = nullptr;

  CudaError (*cudaSetDevice)(int device) = nullptr;
  CudaError (*cudaStreamQuery)(CudaStream stream) = nullptr;
  CudaError (*cudaDeviceGetPCIBusId)(char* id, int size, int device) = nullptr;
  const char* (*cudaGetErrorString)(CudaError error) = nullptr;
};

}  // namespace espalier::collective

// Functions of a nonblocking communicator return kNcclInProgress, and NCCL's threads finish the operation. The kernel
// of a sum is in the stream only after ncclCommGetAsyncError has returned success; before that, cudaStreamQuery could
// report an idle stream although the sum is not complete. CUDA's current device is a state of the calling thread, so
// each call sets it.
//
// The communicator is always freed with ncclCommAbort, because ncclCommDestroy may wait for other ranks. After a run
// without errors, ncclCommAbort is safe too, because no sum is pending on any rank.
#include "services/collective/nccl/nccl_communicator.h"

namespace espalier::collective {
namespace {

constexpr const char* kConnecting = "connecting the GPUs";
constexpr const char* kSumming = "summing over the GPUs";

Status AbortedError() { return Unavailable("this trainer's communicator of NCCL was aborted"); }

}  // namespace

Result<std::unique_ptr<NcclCommunicator>> NcclCommunicator::Begin(const NcclApi& api, int device, uint32_t rank,
                                                                  uint32_t size, const NcclUniqueId& id) {
  RETURN_IF_ERROR(ToStatus(api, api.cudaSetDevice(device), kConnecting));
  std::unique_ptr<NcclCommunicator> communicator(new NcclCommunicator(api, device));
  NcclConfig config;
  const NcclResult result =
      api.ncclCommInitRankConfig(&communicator->handle_, static_cast<int>(size), id, static_cast<int>(rank), &config);
  if (result != kNcclInProgress) RETURN_IF_ERROR(ToStatus(api, result, kConnecting));
  if (communicator->handle_ == nullptr) return Internal(std::string(kConnecting) + ": NCCL returned no communicator");
  return communicator;
}

Result<bool> NcclCommunicator::PollState(const char* what) {
  if (handle_ == nullptr) return AbortedError();
  RETURN_IF_ERROR(ToStatus(api_, api_.cudaSetDevice(device_), what));
  NcclResult state = kNcclInternalError;
  RETURN_IF_ERROR(ToStatus(api_, api_.ncclCommGetAsyncError(handle_, &state), what));
  if (state == kNcclInProgress) return false;
  RETURN_IF_ERROR(ToStatus(api_, state, what));
  return true;
}

Result<bool> NcclCommunicator::PollConnected() { return PollState(kConnecting); }

Status NcclCommunicator::BeginSum(DeviceFloats values) {
  if (handle_ == nullptr) return AbortedError();
  RETURN_IF_ERROR(ToStatus(api_, api_.cudaSetDevice(device_), kSumming));
  const NcclResult result = api_.ncclAllReduce(values.values, values.values, values.count, kNcclFloat32, kNcclSum,
                                               handle_, /*stream=*/nullptr);
  return result == kNcclInProgress ? Status() : ToStatus(api_, result, kSumming);
}

Result<bool> NcclCommunicator::PollSum() {
  ASSIGN_OR_RETURN(const bool launched, PollState(kSumming));
  if (!launched) return false;
  const CudaError error = api_.cudaStreamQuery(nullptr);
  if (error == kCudaNotReady) return false;
  RETURN_IF_ERROR(ToStatus(api_, error, kSumming));
  return true;
}

void NcclCommunicator::Abort() {
  if (handle_ == nullptr) return;
  // Nothing can be done about an error: the group has failed already, or the process ends.
  api_.cudaSetDevice(device_);
  api_.ncclCommAbort(handle_);
  handle_ = nullptr;
}

}  // namespace espalier::collective

// A fake of NCCL and of CUDA's runtime for ranks that are threads of one process; host memory stands for GPU memory. It
// has the properties of NCCL that Espalier relies on, each as strict as NCCL may be:
//   - All communicators are nonblocking. One is connected when all ranks of its id have joined.
//   - A sum is in the stream only after its rank has polled the communicator's state. Before, the stream seems idle.
//   - A sum ends when it is in the streams of all ranks: each then has the sum in rank order. It never ends if the
//     ranks' sizes differ.
//   - Streams belong to the thread's current device, which is 0 in a new thread.
//   - After a rank has aborted its communicator, pending and later sums of the group never end. Other ranks get
//     no error.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "services/collective/nccl/nccl_api.h"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace espalier::collective {

struct FakeSum {
  std::map<int, float*> in_stream;  // by rank
  size_t count = 0;
  bool is_dead = false;  // never ends
  bool has_ended = false;
};

struct FakeRanks {
  int size = 0;
  std::map<int, NcclHandle> members;  // by rank
  bool connected = false;
  std::map<int, std::shared_ptr<FakeSum>> sums;  // by number
};

struct NcclCommunicatorState {
  std::shared_ptr<FakeRanks> ranks;
  int rank = 0, device = 0, num_sums = 0;
  NcclResult failed = kNcclSuccess;
  // Of a sum that is not in the stream yet; null: none.
  std::shared_ptr<FakeSum> launching;
  float* values = nullptr;
  size_t count = 0;
  bool was_polled = false;  // since the sum began
};

namespace {

struct State {
  int version = 22809, num_ids = 0, num_begun = 0;
  bool holds_sums = false;
  std::map<int, NcclResult> fails_from_start, fails_from_sum;  // by rank
  std::map<int, std::shared_ptr<FakeRanks>> groups;            // by id
  std::map<NcclHandle, std::unique_ptr<NcclCommunicatorState>> alive;
  std::map<int, std::vector<std::shared_ptr<FakeSum>>> streams;  // sums in the default stream, by device
};

std::mutex mutex;
State state;  // guarded by mutex
thread_local int current_device = 0;
constexpr int kNumDevices = 16;

void EndIfComplete(FakeSum& sum, int size) {
  if (sum.is_dead || state.holds_sums || static_cast<int>(sum.in_stream.size()) < size) return;
  std::vector<float> total(sum.in_stream.at(0), sum.in_stream.at(0) + sum.count);
  for (int rank = 1; rank < size; ++rank) {
    for (size_t i = 0; i < sum.count; ++i) total[i] += sum.in_stream.at(rank)[i];
  }
  for (const auto& [rank, values] : sum.in_stream) std::copy(total.begin(), total.end(), values);
  sum.has_ended = true;
}

void Launch(NcclCommunicatorState& member) {
  FakeSum& sum = *member.launching;
  if (!sum.in_stream.empty() && sum.count != member.count) sum.is_dead = true;
  sum.count = member.count;
  sum.in_stream[member.rank] = member.values;
  state.streams[member.device].push_back(member.launching);
  EndIfComplete(sum, member.ranks->size);
  member.launching = nullptr;
}

}  // namespace

FAKE_EXPORT void FakeNcclReset() {
  const std::lock_guard lock(mutex);
  state = State();
}

FAKE_EXPORT void FakeNcclSetVersion(int version) {
  const std::lock_guard lock(mutex);
  state.version = version;
}

FAKE_EXPORT void FakeNcclFail(int rank, int when, int result) {
  const std::lock_guard lock(mutex);
  (when == 0 ? state.fails_from_start : state.fails_from_sum)[rank] = static_cast<NcclResult>(result);
}

FAKE_EXPORT void FakeNcclHoldSums() {
  const std::lock_guard lock(mutex);
  state.holds_sums = true;
}

FAKE_EXPORT int FakeNcclNumBegun() {
  const std::lock_guard lock(mutex);
  return state.num_begun;
}

FAKE_EXPORT int FakeNcclNumAlive() {
  const std::lock_guard lock(mutex);
  return static_cast<int>(state.alive.size());
}

FAKE_EXPORT int FakeNcclNumIds() {
  const std::lock_guard lock(mutex);
  return state.num_ids;
}

// --- NCCL

FAKE_EXPORT NcclResult ncclGetVersion(int* version) {
  const std::lock_guard lock(mutex);
  *version = state.version;
  return kNcclSuccess;
}

FAKE_EXPORT NcclResult ncclGetUniqueId(NcclUniqueId* id) {
  const std::lock_guard lock(mutex);
  *id = {};
  std::snprintf(id->internal, sizeof(id->internal), "fake %d", ++state.num_ids);
  return kNcclSuccess;
}

FAKE_EXPORT NcclResult ncclCommInitRankConfig(NcclHandle* handle, int size, NcclUniqueId id, int rank,
                                              NcclConfig* config) {
  const std::lock_guard lock(mutex);
  int number = 0;
  *handle = nullptr;
  if (std::sscanf(id.internal, "fake %d", &number) != 1 || number < 1 || number > state.num_ids) {
    return kNcclInvalidArgument;
  }
  if (config->size != sizeof(NcclConfig) || config->magic != 0xcafebeef || config->blocking != 0) {
    return kNcclInvalidArgument;
  }
  std::shared_ptr<FakeRanks>& ranks = state.groups[number];
  if (ranks == nullptr) ranks = std::make_shared<FakeRanks>();
  if (ranks->members.empty()) ranks->size = size;
  if (ranks->size != size || rank >= size || ranks->members.contains(rank)) return kNcclInvalidUsage;
  auto member = std::make_unique<NcclCommunicatorState>();
  member->ranks = ranks;
  member->rank = rank;
  member->device = current_device;
  if (state.fails_from_start.contains(rank)) {
    member->failed = state.fails_from_start[rank];  // and does not join
  } else {
    ranks->members[rank] = member.get();
    ranks->connected = static_cast<int>(ranks->members.size()) == size;
  }
  *handle = member.get();
  state.alive[*handle] = std::move(member);
  return kNcclInProgress;
}

FAKE_EXPORT NcclResult ncclCommGetAsyncError(NcclHandle handle, NcclResult* result) {
  const std::lock_guard lock(mutex);
  if (!state.alive.contains(handle)) return kNcclInvalidArgument;
  *result = handle->failed;
  if (handle->failed != kNcclSuccess) return kNcclSuccess;
  *result = handle->ranks->connected ? kNcclSuccess : kNcclInProgress;
  if (handle->launching == nullptr) return kNcclSuccess;
  if (!handle->was_polled) {  // as if another thread still launched the kernel
    handle->was_polled = true;
    *result = kNcclInProgress;
    return kNcclSuccess;
  }
  Launch(*handle);
  return kNcclSuccess;
}

FAKE_EXPORT NcclResult ncclAllReduce(const void* from, void* to, size_t count, NcclDataType type,
                                     NcclOperation operation, NcclHandle handle, CudaStream stream) {
  const std::lock_guard lock(mutex);
  if (!state.alive.contains(handle) || type != kNcclFloat32 || operation != kNcclSum) return kNcclInvalidArgument;
  // The fake supports only in-place sums in the default stream.
  if (from != to || stream != nullptr || handle->device != current_device) return kNcclInvalidArgument;
  if (!handle->ranks->connected || handle->launching != nullptr) return kNcclInvalidUsage;
  ++state.num_begun;
  if (state.fails_from_sum.contains(handle->rank)) {
    handle->failed = state.fails_from_sum[handle->rank];
    return kNcclInProgress;
  }
  std::shared_ptr<FakeSum>& sum = handle->ranks->sums[handle->num_sums++];
  if (sum == nullptr) sum = std::make_shared<FakeSum>();
  handle->launching = sum;
  handle->values = static_cast<float*>(to);
  handle->count = count;
  handle->was_polled = false;
  return kNcclInProgress;
}

FAKE_EXPORT NcclResult ncclCommAbort(NcclHandle handle) {
  const std::lock_guard lock(mutex);
  if (!state.alive.contains(handle)) return kNcclInvalidArgument;
  for (const auto& [number, sum] : handle->ranks->sums) {
    if (!sum->has_ended) sum->is_dead = true;
  }
  std::erase_if(state.streams[handle->device], [](const auto& sum) { return sum->is_dead; });
  state.alive.erase(handle);
  return kNcclSuccess;
}

FAKE_EXPORT const char* ncclGetErrorString(NcclResult result) {
  switch (result) {
    case kNcclSystemError: return "unhandled system error";
    case kNcclRemoteError: return "remote process exited or there was a network error";
    case kNcclInvalidArgument: return "invalid argument";
    case kNcclInvalidUsage: return "invalid usage";
    default: return static_cast<int>(result) < 0 ? nullptr : "unknown result code";
  }
}

// --- CUDA's runtime

FAKE_EXPORT CudaError cudaSetDevice(int device) {
  if (device < 0 || device >= kNumDevices) return static_cast<CudaError>(101);
  current_device = device;
  return kCudaSuccess;
}

FAKE_EXPORT CudaError cudaStreamQuery(CudaStream) {
  const std::lock_guard lock(mutex);
  std::vector<std::shared_ptr<FakeSum>>& stream = state.streams[current_device];
  std::erase_if(stream, [](const auto& sum) { return sum->has_ended; });
  return stream.empty() ? kCudaSuccess : kCudaNotReady;
}

FAKE_EXPORT CudaError cudaDeviceGetPCIBusId(char* id, int size, int device) {
  if (device < 0 || device >= kNumDevices) return static_cast<CudaError>(101);
  std::snprintf(id, static_cast<size_t>(size), "0000:%02x:00.0", device + 16);
  return kCudaSuccess;
}

FAKE_EXPORT const char* cudaGetErrorString(CudaError error) {
  return static_cast<int>(error) == 101 ? "invalid device ordinal" : "unknown error";
}

}  // namespace espalier::collective

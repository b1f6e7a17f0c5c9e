// Annotations (edges.h) of the lock-free synchronization of gRPC core: queues, serialization of the work of a call,
// readiness of sockets, and reference counts.
#include <grpc/slice.h>
#include <grpc/support/sync.h>

#include <cstdint>

#include "services/rpc/testing/tsan/edges.h"

using espalier::tsan::Acquire;
using espalier::tsan::Next;
using espalier::tsan::Release;

extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, size_t),
                                                         void (*on_free)(const volatile void*));

namespace {

// Address within a block that orders its last use; nothing else synchronizes on it.
void* LastUseOf(const volatile void* block) { return const_cast<char*>(static_cast<const volatile char*>(block)) + 1; }

[[gnu::constructor]] void WatchFrees() {
  __sanitizer_install_malloc_and_free_hooks([](const volatile void*, size_t) {},
                                            [](const volatile void* block) { Acquire(LastUseOf(block)); });
}

}  // namespace

// --- references

extern "C" {

int gpr_unref(gpr_refcount* count) {
  static auto* const next = Next<decltype(gpr_unref)>("gpr_unref");
  Release(count);
  const int was_last = next(count);
  if (was_last != 0) Acquire(count);
  return was_last;
}

// The memory of a slice begins with its reference count and is freed with the last reference, on any thread.
void grpc_slice_unref(grpc_slice slice) {
  static auto* const next = Next<decltype(grpc_slice_unref)>("grpc_slice_unref");
  const bool is_counted = reinterpret_cast<uintptr_t>(slice.refcount) > 1;  // 0: in the slice itself; 1: static
  if (is_counted) Release(LastUseOf(slice.refcount));
  next(slice);
}

}  // extern "C"

// --- MultiProducerSingleConsumerQueue: completions, and the work of call combiners and combiners

bool Push(void* queue, void* node) asm("_ZN9grpc_core32MultiProducerSingleConsumerQueue4PushEPNS0_4NodeE");
bool Push(void* queue, void* node) {
  static auto* const next =
      Next<bool(void*, void*)>("_ZN9grpc_core32MultiProducerSingleConsumerQueue4PushEPNS0_4NodeE");
  Release(queue);
  return next(queue, node);
}

void* PopAndCheckEnd(void* queue,
                     bool* empty) asm("_ZN9grpc_core32MultiProducerSingleConsumerQueue14PopAndCheckEndEPb");
void* PopAndCheckEnd(void* queue, bool* empty) {
  static auto* const next =
      Next<void*(void*, bool*)>("_ZN9grpc_core32MultiProducerSingleConsumerQueue14PopAndCheckEndEPb");
  void* const node = next(queue, empty);
  Acquire(queue);
  return node;
}

// --- CallCombiner: one thread at a time works on a call. (`error` is an absl::Status passed by address.)

void Start(void* combiner, void* closure, void* error, const char* file, int line,
           const char* reason) asm("_ZN9grpc_core12CallCombiner5StartEP12grpc_closureN4absl7debian36StatusEPKciS7_");
void Start(void* combiner, void* closure, void* error, const char* file, int line, const char* reason) {
  static auto* const next = Next<void(void*, void*, void*, const char*, int, const char*)>(
      "_ZN9grpc_core12CallCombiner5StartEP12grpc_closureN4absl7debian36StatusEPKciS7_");
  Release(combiner);
  next(combiner, closure, error, file, line, reason);
  Acquire(combiner);  // the closure runs later
}

void Stop(void* combiner, const char* file, int line,
          const char* reason) asm("_ZN9grpc_core12CallCombiner4StopEPKciS2_");
void Stop(void* combiner, const char* file, int line, const char* reason) {
  static auto* const next =
      Next<void(void*, const char*, int, const char*)>("_ZN9grpc_core12CallCombiner4StopEPKciS2_");
  Release(combiner);
  next(combiner, file, line, reason);
}

// --- LockfreeEvent: orders a closure that waits for a socket after the thread that finds it ready.

void NotifyOn(void* event, void* closure) asm("_ZN9grpc_core13LockfreeEvent8NotifyOnEP12grpc_closure");
void NotifyOn(void* event, void* closure) {
  static auto* const next = Next<void(void*, void*)>("_ZN9grpc_core13LockfreeEvent8NotifyOnEP12grpc_closure");
  Release(event);
  next(event, closure);
  Acquire(event);
}

void SetReady(void* event) asm("_ZN9grpc_core13LockfreeEvent8SetReadyEv");
void SetReady(void* event) {
  static auto* const next = Next<void(void*)>("_ZN9grpc_core13LockfreeEvent8SetReadyEv");
  Release(event);
  next(event);
  Acquire(event);
}

bool SetShutdown(void* event, void* error) asm("_ZN9grpc_core13LockfreeEvent11SetShutdownEN4absl7debian36StatusE");
bool SetShutdown(void* event, void* error) {
  static auto* const next =
      Next<bool(void*, void*)>("_ZN9grpc_core13LockfreeEvent11SetShutdownEN4absl7debian36StatusE");
  Release(event);
  const bool is_first = next(event, error);
  Acquire(event);
  return is_first;
}

// For the thread sanitizer only: tells it how gRPC hands things from thread to thread.
//
// Debian's gRPC is not instrumented, so its own synchronisation is invisible, and everything that crosses it (a
// call's context, a handler's service, a reactor) would be reported as a race. These functions stand in front of
// gRPC's of the same names: what a thread did before it gave gRPC work is over when gRPC's threads take up a
// completion, and the other way round. One place for all hand-overs: coarser than the truth. It orders threads that
// have nothing to do with each other, so a race between two hand-overs may go unreported.
#include <dlfcn.h>
#include <grpc/grpc.h>
#include <grpcpp/alarm.h>

#include <functional>
#include <utility>

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}

namespace {

char hand_over;

void GiveToGrpc() { __tsan_release(&hand_over); }
void TakeFromGrpc() { __tsan_acquire(&hand_over); }

template <class Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline, void* reserved) {
  static auto* const next = Next<decltype(grpc_completion_queue_next)>("grpc_completion_queue_next");
  GiveToGrpc();  // the completion before this one is dealt with
  const grpc_event event = next(queue, deadline, reserved);
  TakeFromGrpc();
  return event;
}

grpc_event grpc_completion_queue_pluck(grpc_completion_queue* queue, void* tag, gpr_timespec deadline, void* reserved) {
  static auto* const next = Next<decltype(grpc_completion_queue_pluck)>("grpc_completion_queue_pluck");
  GiveToGrpc();
  const grpc_event event = next(queue, tag, deadline, reserved);
  TakeFromGrpc();
  return event;
}

grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t num_ops, void* tag, void* reserved) {
  static auto* const next = Next<decltype(grpc_call_start_batch)>("grpc_call_start_batch");
  GiveToGrpc();
  return next(call, ops, num_ops, tag, reserved);
}

grpc_call_error grpc_call_cancel(grpc_call* call, void* reserved) {
  static auto* const next = Next<decltype(grpc_call_cancel)>("grpc_call_cancel");
  GiveToGrpc();
  return next(call, reserved);
}

void grpc_call_unref(grpc_call* call) {
  static auto* const next = Next<decltype(grpc_call_unref)>("grpc_call_unref");
  TakeFromGrpc();
  next(call);
}

void grpc_server_start(grpc_server* server) {
  static auto* const next = Next<decltype(grpc_server_start)>("grpc_server_start");
  GiveToGrpc();
  next(server);
}

void grpc_server_destroy(grpc_server* server) {
  static auto* const next = Next<decltype(grpc_server_destroy)>("grpc_server_destroy");
  TakeFromGrpc();
  next(server);
}

}  // extern "C"

// grpc::Alarm::Set with a callback, which runs on a thread of gRPC's.
void SetAlarm(grpc::Alarm* alarm, gpr_timespec deadline,
              std::function<void(bool)> callback) asm("_ZN4grpc5Alarm11SetInternalE12gpr_timespecSt8functionIFvbEE");
void SetAlarm(grpc::Alarm* alarm, gpr_timespec deadline, std::function<void(bool)> callback) {
  static auto* const next = Next<void(grpc::Alarm*, gpr_timespec, std::function<void(bool)>)>(
      "_ZN4grpc5Alarm11SetInternalE12gpr_timespecSt8functionIFvbEE");
  auto* const held = new std::function<void(bool)>(std::move(callback));
  GiveToGrpc();
  next(alarm, deadline, [held](bool ok) {
    TakeFromGrpc();
    (*held)(ok);
    delete held;
  });
}

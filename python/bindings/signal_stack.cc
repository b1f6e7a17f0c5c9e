// A separate stack for signal handlers. oneDNN's generated code uses the register of the stack pointer for other
// addresses, so a handler without a separate stack would overwrite the memory at such an address. Python's handlers use
// the thread's signal stack if it has one (since 3.10).
#include <signal.h>

#include <cstddef>
#include <memory>

#include <nanobind/nanobind.h>

#include "python/bindings/bindings.h"

namespace nb = nanobind;

namespace espalier::python {
namespace {

// A signal stack of the calling thread, until the thread ends.
class SignalStack {
 public:
  // Enough for the signal frame of a processor with AVX-512 and AMX (11 KiB) and for Python's handler.
  static constexpr size_t kBytes = 64 << 10;

  SignalStack() : memory_(new std::byte[kBytes]) {}
  ~SignalStack() {
    stack_t current = {};
    if (sigaltstack(nullptr, &current) != 0 || current.ss_sp != memory_.get()) return;
    const stack_t none = {.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    sigaltstack(&none, nullptr);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

  void Install() const {
    const stack_t own = {.ss_sp = memory_.get(), .ss_flags = 0, .ss_size = kBytes};
    sigaltstack(&own, nullptr);
  }

 private:
  const std::unique_ptr<std::byte[]> memory_;
};

// Gives the calling thread a signal stack if it has none.
void UseSignalStack() {
  stack_t current = {};
  if (sigaltstack(nullptr, &current) == 0 && (current.ss_flags & SS_DISABLE) == 0) return;
  thread_local const SignalStack stack;
  stack.Install();
}

}  // namespace

void BindSignalStack(nb::module_& m) { m.def("use_signal_stack", &UseSignalStack); }

}  // namespace espalier::python

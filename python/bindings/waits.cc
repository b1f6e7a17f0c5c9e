// A signal does not interrupt a wait in the library: Python runs its handlers only when the main thread calls
// PyErr_CheckSignals. So calls of the main thread run on one helper thread, while the main thread waits and calls
// PyErr_CheckSignals every kSignalInterval. The hand-over takes about 10 microseconds.
#include "python/bindings/waits.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <nanobind/stl/string.h>

#include "services/base/exit_code.h"
#include "services/telemetry/termination.h"

namespace nb = nanobind;

namespace espalier::python {
namespace {

constexpr std::chrono::milliseconds kSignalInterval(50);

// Set on import, not by the initializer of a static local: Python code must not run while such an initializer is
// locked.
unsigned long main_thread = 0;

// Runs one task at a time. The thread is never joined, because the interpreter may exit while a task runs.
class Helper {
 public:
  bool is_busy() {
    const std::lock_guard lock(mutex_);
    return task_ != nullptr;
  }
  // Starts the task. The helper must not be busy.
  void Start(const std::function<void()>& task) {
    {
      const std::lock_guard lock(mutex_);
      task_ = &task;
    }
    changed_.notify_all();
  }
  // Waits for the end of the task. Returns false if it has not ended after `time`.
  bool WaitFor(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return task_ == nullptr; });
  }

  [[noreturn]] void Loop() {
    for (;;) {
      const std::function<void()>* task = nullptr;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return task_ != nullptr; });
        task = task_;
      }
      (*task)();
      {
        const std::lock_guard lock(mutex_);
        task_ = nullptr;
      }
      changed_.notify_all();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* task_ = nullptr;
};

// Returns the helper of the main thread. Null in other threads, in a signal handler that runs while the helper is busy,
// and in processes that were forked after its creation, because a fork does not copy its thread.
Helper* HelperOfThisThread() {
  if (PyThread_get_thread_ident() != main_thread) return nullptr;
  static const pid_t process = getpid();
  static Helper* const helper = [] {
    auto* made = new Helper;
    std::thread([made] { made->Loop(); }).detach();
    return made;
  }();
  return getpid() == process && !helper->is_busy() ? helper : nullptr;
}

}  // namespace

Deadline ToDeadline(std::optional<double> timeout_seconds, const Deadline& default_deadline) {
  constexpr double kForever = 1e9;
  if (!timeout_seconds) return default_deadline;
  if (std::isnan(*timeout_seconds)) throw StatusError(InvalidArgument("the timeout is not a number"));
  if (*timeout_seconds > kForever) return Deadline::Never();
  return Deadline::After(std::chrono::nanoseconds(static_cast<int64_t>(std::max(0.0, *timeout_seconds) * 1e9)));
}

void RunInterruptibly(const std::function<void(std::stop_token)>& body) {
  std::stop_source stop;
  Helper* const helper = HelperOfThisThread();
  if (helper == nullptr) {
    const nb::gil_scoped_release released;
    return body(stop.get_token());
  }
  std::exception_ptr thrown;
  const std::function<void()> task = [&] {
    try {
      body(stop.get_token());
    } catch (...) {
      thrown = std::current_exception();
    }
  };
  std::optional<nb::python_error> raised;
  {
    const nb::gil_scoped_release released;
    helper->Start(task);
    while (!helper->WaitFor(kSignalInterval)) {
      if (raised) continue;
      {
        const nb::gil_scoped_acquire acquired;
        if (PyErr_CheckSignals() == 0) continue;
        raised.emplace();  // takes the exception that is set
      }
      stop.request_stop();  // without the interpreter's lock, because the callbacks of the stop may wait
    }
  }
  if (raised) throw nb::python_error(*raised);
  if (thrown) std::rethrow_exception(thrown);
}

StatusCode CodeFromName(const std::string& name) {
  for (int number = 0; number <= static_cast<int>(StatusCode::kUnauthenticated); ++number) {
    if (name == StatusCodeName(static_cast<StatusCode>(number))) return static_cast<StatusCode>(number);
  }
  return StatusCode::kUnknown;
}

void BindErrors(nb::module_& m) {
  main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  m.def("exit_code", [](const std::string& code) { return static_cast<int>(ToExitCode(CodeFromName(code))); });
  m.def("write_termination", [](int code, const std::string& message) {
    telemetry::TerminationMessage termination;
    termination.code = static_cast<ExitCode>(code);
    termination.message = message;
    telemetry::WriteTermination(termination);
  });
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const StatusError& error) {
      const nb::object make = nb::module_::import_("espalier.errors").attr("from_code");
      const nb::object exception = make(StatusCodeName(error.status().code()), error.status().message());
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
    }
  });
}

}  // namespace espalier::python

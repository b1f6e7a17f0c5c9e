#include "operator/client/cpprest/initialize.h"

#include <openssl/x509.h>
#include <pplx/pplx.h>
#include <pplx/threadpool.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#if defined(ESPALIER_ADDRESS_SANITIZER)
#include <sanitizer/lsan_interface.h>
#endif

#include "operator/client/cpprest/cpprest_transport.h"

namespace espalier::ctl::client {
namespace {

// There is one per process, because cpprestsdk's thread pool and OpenSSL's environment variables are process-wide.
struct ProcessState {
  Mutex mutex;
  int num_threads ABSL_GUARDED_BY(mutex) = 0;    // 0: not initialized
  AuthorityPaths system ABSL_GUARDED_BY(mutex);  // from before InitializeCpprest
};

ProcessState& GetState() {
  static ProcessState state;
  return state;
}

// Sets the environment variable to /dev/null and returns its old value, or `otherwise` if it was not set.
std::string ReplaceByDevNull(const char* variable, const char* otherwise) {
  const char* value = std::getenv(variable);
  const std::string before = value == nullptr ? otherwise : value;
  setenv(variable, "/dev/null", 1);
  return before;
}

// Ends the process before the library's static destructors run. They stop the thread pool and join its threads, which
// may deadlock: a thread may wait for work of a thread that has already stopped.
void ExitWithoutDestructors(int status, void*) {
  std::fflush(nullptr);
#if defined(ESPALIER_ADDRESS_SANITIZER)
  __lsan_do_leak_check();
#endif
  ::_exit(status);
}

}  // namespace

Result<AuthorityPaths> GetSystemAuthorities() {
  ProcessState& state = GetState();
  MutexLock lock(&state.mutex);
  if (state.num_threads == 0) return FailedPrecondition("InitializeCpprest was not called");
  return state.system;
}

Status InitializeCpprest(int num_threads) {
  if (num_threads < 1)
    return InvalidArgument("cpprestsdk: expected at least 1 thread, found " + std::to_string(num_threads));
  ProcessState& state = GetState();
  MutexLock lock(&state.mutex);
  if (state.num_threads == num_threads) return {};
  if (state.num_threads != 0) {
    return InvalidArgument("cpprestsdk runs with " + std::to_string(state.num_threads) + " threads already");
  }
  try {
    crossplat::threadpool::initialize_with_threads(static_cast<size_t>(num_threads));
    pplx::get_ambient_scheduler();  // created here, because its creation at the first use is not thread-safe
  } catch (const std::exception& e) {
    return FailedPrecondition("cpprestsdk was used before it was initialized: " + std::string(e.what()));
  }
  if (::on_exit(ExitWithoutDestructors, nullptr) != 0) return Internal("on_exit: cannot register another function");
  state.num_threads = num_threads;
  state.system.file = ReplaceByDevNull(X509_get_default_cert_file_env(), X509_get_default_cert_file());
  state.system.folder = ReplaceByDevNull(X509_get_default_cert_dir_env(), X509_get_default_cert_dir());
  return {};
}

}  // namespace espalier::ctl::client

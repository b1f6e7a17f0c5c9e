// The signal handler sets an atomic and writes one byte to a pipe, whose read end is StopSignal::descriptor(). Files
// are written to a temporary name and renamed.
#include "services/telemetry/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "services/base/check.h"
#include "services/base/file.h"
#include "services/base/write_all.h"

namespace espalier::telemetry {
namespace {

// The signal handler uses these variables, so they are lock-free atomics.
std::atomic<int> g_signal_number{0};
std::atomic<int> g_write_end{-1};
std::atomic<int> g_second_exit_code{-1};  // negative: a second signal has no effect
static_assert(std::atomic<int>::is_always_lock_free);

constexpr size_t kMaxReadyFileBytes = 1 << 20;

void OnSignal(int signal_number) {
  const int saved_errno = errno;
  int none = 0;
  if (g_signal_number.compare_exchange_strong(none, signal_number)) {
    const char byte = 1;
    // Only ResetForTesting reads the pipe, so one byte keeps it readable.
    [[maybe_unused]] const ssize_t written = write(g_write_end.load(), &byte, 1);
  } else if (const int exit_code = g_second_exit_code.load(); exit_code >= 0) {
    _exit(exit_code);
  }
  errno = saved_errno;
}

constexpr int kStopSignals[] = {SIGTERM, SIGINT};

void ChangeSignalMask(int how) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : kStopSignals) sigaddset(&signals, number);
  pthread_sigmask(how, &signals, nullptr);
}

}  // namespace

StopSignal& StopSignal::Install() {
  static StopSignal* const signal = new StopSignal;  // never destroyed: a handler may run until the process exits
  return *signal;
}

StopSignal::StopSignal() {
  int ends[2] = {-1, -1};
  ESPALIER_CHECK(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) << "pipe2: errno " << errno;
  read_end_ = ends[0];
  write_end_ = ends[1];
  g_write_end = write_end_;
  struct sigaction action {};
  action.sa_handler = OnSignal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (const int number : kStopSignals) {
    ESPALIER_CHECK(sigaction(number, &action, nullptr) == 0) << "sigaction: errno " << errno;
  }
  UnblockInThread();
  signal(SIGPIPE, SIG_IGN);
}

void StopSignal::BlockInThread() const { ChangeSignalMask(SIG_BLOCK); }
void StopSignal::UnblockInThread() const { ChangeSignalMask(SIG_UNBLOCK); }
bool StopSignal::requested() const { return g_signal_number.load() != 0; }
int StopSignal::signal_number() const { return g_signal_number.load(); }
int StopSignal::descriptor() const { return read_end_; }
void StopSignal::Request(int signal_number) { OnSignal(signal_number); }
void StopSignal::ExitOnSecond(int exit_code) { g_second_exit_code = exit_code; }

bool StopSignal::WaitUntil(Deadline deadline) const {
  while (!requested()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.Remaining());
    if (left.count() == 0) return false;
    pollfd wait{read_end_, POLLIN, 0};
    poll(&wait, 1, static_cast<int>(std::min<int64_t>(left.count(), 60'000)));
  }
  return true;
}

void StopSignal::Wait() const {
  while (!requested()) {
    pollfd wait{read_end_, POLLIN, 0};
    poll(&wait, 1, -1);
  }
}

void StopSignal::ResetForTesting() {
  char byte = 0;
  while (read(read_end_, &byte, 1) == 1) {
  }
  g_signal_number = 0;
  g_second_exit_code = -1;
}

Status WriteFileAtomically(const std::string& path, const std::string& text, Durability durability) {
  // The temporary file is in the same folder, so that the rename stays within one file system. Its name is unique among
  // processes and threads.
  static std::atomic<uint64_t> counter{0};
  const std::string temporary = path + ".tmp-" + std::to_string(getpid()) + "-" + std::to_string(counter++);
  const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return FromErrno(errno, "creating " + path);
  Status status = WriteAll(descriptor, text, path);
  const bool syncs = status.ok() && durability == Durability::kSynced;
  if (syncs && fsync(descriptor) != 0 && errno != EINVAL) status = FromErrno(errno, "syncing " + path);
  if (close(descriptor) != 0 && status.ok()) status = FromErrno(errno, "closing " + path);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) status = FromErrno(errno, "renaming to " + path);
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

Status WriteReadyFile(const std::string& path, const ReadyFile& ready) {
  const nlohmann::ordered_json document = {{"pid", ready.pid != 0 ? ready.pid : static_cast<int64_t>(getpid())},
                                           {"address", ready.address},
                                           {"adminAddress", ready.admin_address},
                                           {"rendezvous", ready.rendezvous}};
  return WriteFileAtomically(path, document.dump() + "\n", Durability::kNotSynced);
}

Result<ReadyFile> ReadReadyFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxReadyFileBytes));
  const auto document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return InvalidArgument(path + ": not a JSON object");
  ReadyFile ready;
  const auto read = [&](const char* key, std::string* out) {
    const auto field = document.find(key);
    if (field != document.end() && field->is_string()) *out = field->get<std::string>();
  };
  read("address", &ready.address);
  read("adminAddress", &ready.admin_address);
  read("rendezvous", &ready.rendezvous);
  const auto pid = document.find("pid");
  if (pid == document.end() || !pid->is_number_integer()) return InvalidArgument(path + ": pid is not an integer");
  ready.pid = pid->get<int64_t>();
  return ready;
}

}  // namespace espalier::telemetry

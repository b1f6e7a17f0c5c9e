// What every long-running process needs from the operating system: being asked to stop, dying with whoever
// started it, and saying that it is ready.
#pragma once

#include <optional>
#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace espalier::telemetry {

// SIGTERM and SIGINT as a flag and a readable descriptor. The first signal asks; a second SIGINT or SIGTERM does
// nothing more (SIGKILL is for that) unless ExitOnSecond says so. SIGPIPE is ignored, so that a vanished peer is an
// error of a write. One per process. Thread-safe, but for the first Install: that is the main thread's.
class StopSignal {
 public:
  // Installs the handlers, and lets through what was blocked: a process may be started with both signals blocked, so
  // that one that comes before there are handlers is taken now. The second call returns the same object.
  static StopSignal& Install();

  bool requested() const;
  int signal_number() const;  // 0 before
  // Becomes readable, and stays so, once a stop is requested: for poll().
  int descriptor() const;
  // True when a stop was requested before the deadline.
  bool WaitUntil(Deadline deadline) const;
  void Wait() const;
  // As if a signal had come: for a process that ends itself. Async-signal-safe.
  void Request(int signal_number);
  // From now on a second SIGTERM or SIGINT ends the process at once, with this code.
  void ExitOnSecond(int exit_code);
  // Undoes Request and ExitOnSecond: for tests, which share a process.
  void ResetForTesting();

 private:
  StopSignal();
  int read_end_ = -1;
  int write_end_ = -1;
};

// What a process writes when it serves: addresses with the ports that were picked.
struct ReadyFile {
  std::string address;        // of its RPCs ("127.0.0.1:41234"); empty for a process without
  std::string admin_address;  // empty without
  std::string rendezvous;     // of trainer rank 0
  int64_t pid = 0;            // 0: filled in with this process's
  friend bool operator==(const ReadyFile&, const ReadyFile&) = default;
};

// Atomic: a reader sees the whole file or none. Not synced to disk, which can take minutes on a busy one: a ready file
// is of no use after a crash of the machine.
Status WriteReadyFile(const std::string& path, const ReadyFile& ready);
// NotFound while it does not exist yet.
Result<ReadyFile> ReadReadyFile(const std::string& path);

// Whether a file survives a crash of the machine once it has been written.
enum class Durability { kSynced, kNotSynced };

// Writes `text` to `path` by way of a temporary file in the same folder and a rename. Errors name the path;
// ResourceExhausted for a full disk. Leaves no temporary file behind.
Status WriteFileAtomically(const std::string& path, const std::string& text,
                           Durability durability = Durability::kSynced);

}  // namespace espalier::telemetry

// The interface of long-running processes to the operating system: stop signals and ready files.
#pragma once

#include <optional>
#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"

namespace espalier::telemetry {

// Reports SIGTERM and SIGINT as a flag and a readable descriptor. The first signal requests a stop. A second one has no
// effect unless ExitOnSecond was called. SIGPIPE is ignored, so that writing to a closed connection returns an error.
// There is one object per process. Thread-safe, except for the first Install, which the main thread must call.
class StopSignal {
 public:
  // Installs the handlers and unblocks both signals. If the process was started with the signals blocked, a signal that
  // was sent earlier is delivered now. Further calls return the same object.
  static StopSignal& Install();

  bool requested() const;
  int signal_number() const;  // 0 if no stop is requested
  // Returns a descriptor for poll() that becomes and stays readable when a stop is requested.
  int descriptor() const;
  // Blocks until a stop is requested or the deadline passes; returns whether a stop was requested.
  bool WaitUntil(Deadline deadline) const;
  void Wait() const;  // without a deadline
  // Requests a stop as if the process had received this signal. Async-signal-safe.
  void Request(int signal_number);
  // Blocks or unblocks both signals in the calling thread and in threads that it starts later. While all threads block
  // a signal, it stays pending.
  void BlockInThread() const;
  void UnblockInThread() const;
  // Makes a second SIGTERM or SIGINT end the process at once with this code.
  void ExitOnSecond(int exit_code);
  // Undoes Request and ExitOnSecond, for tests that share a process.
  void ResetForTesting();

 private:
  StopSignal();
  int read_end_ = -1;
  int write_end_ = -1;
};

// The content of the file that a process writes when it is ready: addresses with the bound ports.
struct ReadyFile {
  std::string address;        // of the RPC server ("127.0.0.1:41234"); empty if there is none
  std::string admin_address;  // empty if there is none
  std::string rendezvous;     // address where the trainers join the process group; empty except for rank 0
  int64_t pid = 0;            // 0: WriteReadyFile writes the ID of this process instead
  friend bool operator==(const ReadyFile&, const ReadyFile&) = default;
};

// Writes the file atomically: a reader sees the complete file or none. Does not sync the file: that can take minutes on
// a busy disk, and a ready file is useless after a crash of the machine.
Status WriteReadyFile(const std::string& path, const ReadyFile& ready);
// Reads a ready file. NotFound: it does not exist yet; InvalidArgument: it is not a ready file.
Result<ReadyFile> ReadReadyFile(const std::string& path);

// Whether a file is synced, so that it survives a crash of the machine.
enum class Durability { kSynced, kNotSynced };

// Writes `text` to a temporary file in the same folder and renames it to `path`. Errors name the path;
// ResourceExhausted if the disk is full. Leaves no temporary file behind.
Status WriteFileAtomically(const std::string& path, const std::string& text,
                           Durability durability = Durability::kSynced);

}  // namespace espalier::telemetry

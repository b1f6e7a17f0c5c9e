// Sends files to hosts in blocks. The counterpart on the host is FileReceiver (file_receiver.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "services/format/partition/manifest.h"
#include "services/runner/launch/host_session.h"

namespace espalier::launch {

struct FileToSend {
  std::string source;       // path on this machine
  std::string destination;  // absolute path on the host
  format::FileEntry entry;  // size and block hashes; the key is not used
};

// Called repeatedly during a long operation. If it returns an error, the operation ends with this error.
using ProgressCallback = std::function<Status()>;

// Returns the size and block hashes of a file. Reads the whole file and calls `on_progress` for every MiB.
Result<format::FileEntry> DescribeFile(const std::string& path, const ProgressCallback& on_progress);

// Totals of a copy, for messages.
struct CopyReport {
  uint64_t files = 0, files_unchanged = 0;  // files_unchanged: existed on the host with the same content
  uint64_t bytes = 0, bytes_sent = 0;       // bytes_sent: only the blocks that the host did not have
};

// Sends the files and adds their totals to *report. Calls `on_block` after each block and each file, to display the
// progress. Returns errors of the session, of the heartbeat and of the host (such as a full disk); DataLoss if a file
// has changed since its entry was computed; Cancelled if a stop is requested.
Status SendFiles(HostSession& session, const std::vector<FileToSend>& files, const telemetry::StopSignal& stop,
                 Heartbeat& heartbeat, CopyReport* report, const std::function<void()>& on_block);

}  // namespace espalier::launch

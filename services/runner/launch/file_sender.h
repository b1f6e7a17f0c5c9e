// Files to hosts, block by block; the other end is file_receiver.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "services/format/manifest.h"
#include "services/runner/launch/host_session.h"

namespace espalier::launch {

struct FileToSend {
  std::string source;       // path here
  std::string destination;  // path there
  format::FileEntry entry;  // size and blocks; its key is not used
};

// Called often while something takes long; its error ends it.
using Meanwhile = std::function<Status()>;

// Size and blocks of a file that nobody has described. Reads all of it.
Result<format::FileEntry> DescribeFile(const std::string& path, const Meanwhile& meanwhile);

// What a copy came to, for people.
struct CopyReport {
  uint64_t files = 0, files_there = 0;  // there: with these contents already
  uint64_t bytes = 0, bytes_sent = 0;
};

// `on_block` is called now and then with what has been done so far. Errors: those of the session, of the heartbeat, of
// the host (a full disk), DataLoss where the file has changed since it was described, Cancelled.
Status SendFiles(HostSession& session, const std::vector<FileToSend>& files, const telemetry::StopSignal& stop,
                 Heartbeat& heartbeat, CopyReport* report, const std::function<void()>& on_block);

}  // namespace espalier::launch

// A mark records that a file is verified, so that only one of the processes that use the file has to verify it.
//
// - The mark of a file is an empty file beside it. A process that has verified or written the file holds a shared lock
//   on the mark; this is called holding the mark.
// - The mark's name is `.espalier-vouched-<name>-<inode>-<size>-<mtime>-<ctime>`, with the values of the file. A file
//   that was replaced or modified has another mark, which no process holds.
// - A process that finds the mark held does not verify the file and holds the mark as well. The file counts as
//   verified until the last process releases the mark. The kernel releases the marks of a process that dies.
//
// Corruption on disk that changes none of the values in the mark's name is not detected while the mark is held.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/storage/files/file_lock.h"

namespace espalier::storage {

// A mark that this process holds. Until the destructor releases it, other processes treat the file as verified.
using HeldMark = FileLock;

// If another caller holds the mark of the current file at `path`, holds it for this caller too and returns it;
// otherwise returns nullopt. Does not block. NotFound: the file does not exist.
//
// Callers must exclude each other with a lock of their own for each path, because a concurrent call locks the mark for
// a moment, which looks as if the mark were held. After nullopt, the caller keeps that lock until it has verified the
// file and called HoldMark.
Result<std::optional<HeldMark>> ShareHeldMark(const std::string& path);
// Holds the mark of the current file at `path`, which the caller has verified or written, and returns it. Blocks while
// ShareHeldMark of another caller checks the mark. Errors: NotFound (the file does not exist); DeadlineExceeded and
// Cancelled (stop_requested, unless null, returned true), which name the mark.
Result<HeldMark> HoldMark(const std::string& path, Deadline deadline,
                          const std::function<bool()>& stop_requested = nullptr);

}  // namespace espalier::storage

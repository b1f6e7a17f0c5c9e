// Marks record that a file is verified, so that of several processes that use the file only one has to verify it.
//
// - The mark of a file is an empty file beside it. A process that has verified or written the file holds the mark: a
//   shared lock on it.
// - The mark's name is `.espalier-vouched-<name>-<inode>-<size>-<mtime>-<ctime>`, with the values of the file. A file
//   that was replaced or modified has another mark, which no process holds.
// - A process that relies on the mark of another process holds it as well. The file counts as verified until the last
//   process releases the mark; the kernel releases those of a process that dies.
//
// Corruption on disk that changes none of these values is not detected while the mark is held.
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

// Holds the mark of the current file at `path` for the caller and returns it if another caller holds it already;
// otherwise returns nullopt. Does not block. NotFound: the file does not exist.
//
// Callers must exclude each other with a lock of their own for each path, because a concurrent call can be mistaken for
// a held mark. After nullopt, the caller keeps that lock until it has verified the file and called HoldMark.
Result<std::optional<HeldMark>> HoldMarkIfHeld(const std::string& path);
// Holds the mark of the current file at `path`, which the caller has verified or written, and returns it. Blocks while
// HoldMarkIfHeld of another caller checks the mark. Errors: NotFound (the file does not exist), DeadlineExceeded and
// Cancelled (stop_requested, unless null, returned true); the last two name the mark.
Result<HeldMark> HoldMark(const std::string& path, Deadline deadline,
                          const std::function<bool()>& stop_requested = nullptr);

}  // namespace espalier::storage

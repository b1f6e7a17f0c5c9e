// Vouchers record that a file is verified, so that of several processes that use the file only one has to verify it.
//
// - A process that has verified or written a file holds a voucher: a shared lock on the mark, an empty file beside it.
// - The mark's name is `.espalier-vouched-<name>-<inode>-<size>-<mtime>-<ctime>`, with the values of the file. A file
//   that was replaced or modified has another mark, and therefore no voucher.
// - A process that relies on a voucher of another process holds one as well. The file counts as verified until the last
//   voucher is released; the kernel releases the vouchers of a process that dies.
//
// Corruption on disk that changes none of these values is not detected while a voucher is held.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/storage/files/file_lock.h"

namespace espalier::storage {

// While it is held, other processes treat the file as verified. The destructor releases it.
using Voucher = FileLock;

// Returns a voucher for the caller if a voucher for the current file at `path` is held, otherwise nullopt. Does not
// block. NotFound: the file does not exist.
//
// Callers must exclude each other with a lock of their own for each path, because a concurrent call can be mistaken for
// a voucher. After nullopt, the caller keeps that lock until it has verified the file and called Vouch.
Result<std::optional<Voucher>> TakeWord(const std::string& path);
// Returns a voucher for the current file at `path`, which the caller has verified or written. Blocks while a TakeWord
// of another caller checks the mark. Errors: NotFound (the file does not exist), DeadlineExceeded and Cancelled
// (stop_requested, unless null, returned true); the last two name the mark.
Result<Voucher> Vouch(const std::string& path, Deadline deadline,
                      const std::function<bool()>& stop_requested = nullptr);

}  // namespace espalier::storage

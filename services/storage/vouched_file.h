// One look for many: a process that has found a file good, or made it, vouches for it as long as it lives, and others
// that use the file take its word.
//
//   .espalier-vouched-<name>-<inode, size and times of the file>   beside the file, empty; all who vouch hold it
//   locked,
//                                                                  shared
//
// Who takes another's word vouches as well, so that the word stands while any of them lives; the kernel ends it with
// the last one. A file that has been replaced or written to since is another one, for which nobody has vouched. (What a
// disk does to bytes that nobody writes shows in no process that has looked already.)
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/storage/file_lock.h"

namespace espalier::storage {

// Held: others may take this process's word for the file.
using Voucher = FileLock;

// A voucher of the caller's own, where somebody vouches for the file at `path` as it is; nullopt: nobody does. One
// caller at a time for each path: a lock of theirs sees to that, until they have looked and vouch themselves.
Result<std::optional<Voucher>> TakeWord(const std::string& path);
// The word of who has looked, or made the file, which others may find before it is given: somebody may be asking for it
// at this moment, and is waited for. DeadlineExceeded names the file, and so does Cancelled, once stop_requested (null:
// never) says true.
Result<Voucher> Vouch(const std::string& path, Deadline deadline,
                      const std::function<bool()>& stop_requested = nullptr);

}  // namespace espalier::storage

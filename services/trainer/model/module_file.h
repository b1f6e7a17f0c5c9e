// Reads the TorchScript module of a user (spec.training.model.uri with the model type TorchScript).
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "services/collective/collective.h"
#include "services/job/dist_training.h"
#include "services/storage/open_store.h"

namespace espalier::trainer {

struct ModuleFile {
  std::string where;    // the file's location, for messages
  std::string archive;  // written by torch.jit.save
  std::string sha256;   // of the archive: 64 hexadecimal digits
};

// Reads the file; `file.prefix` is its key (storage::LocateFile). InvalidArgument: it is larger than 4 GiB. The archive
// is not parsed.
Result<ModuleFile> ReadModuleFile(const storage::StoreLocation& file);

// Reads the job's module; returns null for built-in models. Every rank must call it: each reads the file, then waits
// for up to `timeout` in each of two collective operations. If reading fails on a rank, all ranks return an error; if
// ranks have read different bytes, all return InvalidArgument.
Result<std::shared_ptr<const ModuleFile>> ReadJobModule(const job::Training& training,
                                                        const storage::StoreLocation& file,
                                                        collective::Collective& collective,
                                                        std::chrono::nanoseconds timeout);

}  // namespace espalier::trainer

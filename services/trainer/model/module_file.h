// A user's model as a file: spec.training.model.uri of the type TorchScript.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "services/collective/collective.h"
#include "services/job/dist_training.h"
#include "services/storage/open_store.h"

namespace espalier::trainer {

struct ModuleFile {
  std::string where;    // for messages
  std::string archive;  // what torch.jit.save writes
  std::string sha256;   // of the archive: 64 hexadecimal digits
};

// file.prefix is the file's own key (storage::LocateFile). InvalidArgument where it is larger than 4 GiB. The archive
// is not looked into.
Result<ModuleFile> ReadModuleFile(const storage::StoreLocation& file);

// The job's module; null for models of ours. Every rank reads it, then waits for the others for `timeout`; all or none
// go on: InvalidArgument on every rank where they did not read the same bytes.
Result<std::shared_ptr<const ModuleFile>> ModuleToRun(const job::Training& training, const storage::StoreLocation& file,
                                                      collective::Collective& collective,
                                                      std::chrono::nanoseconds timeout);

}  // namespace espalier::trainer

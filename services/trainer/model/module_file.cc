#include "services/trainer/model/module_file.h"

#include <algorithm>
#include <span>

#include "services/base/sha256.h"
#include "services/collective/agreement.h"

namespace espalier::trainer {
namespace {

constexpr uint64_t kMaxModuleBytes = uint64_t{4} << 30;

// Checks that all ranks have read the same bytes: the file may be replaced while trainers start.
Status CheckSameBytesOnAllRanks(const ModuleFile& module, collective::Collective& collective, Deadline deadline) {
  const std::string& own = module.sha256;
  ASSIGN_OR_RETURN(const std::vector<std::byte> all,
                   collective.AllGather(std::as_bytes(std::span<const char>(own)), deadline));
  for (size_t at = 0; at < all.size(); at += own.size()) {
    const std::string other(reinterpret_cast<const char*>(all.data() + at), own.size());
    if (other == own) continue;
    return InvalidArgument("trainers read different modules from " + module.where + ": SHA-256 " +
                           std::min(own, other) + " and " + std::max(own, other) +
                           ", expected one file that does not change while a job starts");
  }
  return Status();
}

}  // namespace

Result<ModuleFile> ReadModuleFile(const storage::StoreLocation& file) {
  ModuleFile module;
  module.where = file.store->Describe() + "/" + file.prefix;
  const auto head = file.store->Head(file.prefix);
  if (!head.ok()) return head.status().While("reading the module in " + module.where);
  if (head->size_bytes > kMaxModuleBytes) {
    return InvalidArgument(module.where + " has " + std::to_string(head->size_bytes) +
                           " bytes, expected a module of at most " + std::to_string(kMaxModuleBytes));
  }
  Result<std::string> archive = file.store->Get(file.prefix);
  if (!archive.ok()) return archive.status().While("reading the module in " + module.where);
  module.archive = *std::move(archive);
  Sha256 digest;
  digest.Update(std::as_bytes(std::span<const char>(module.archive)));
  module.sha256 = digest.HexDigest();
  return module;
}

Result<std::shared_ptr<const ModuleFile>> ReadJobModule(const job::Training& training,
                                                        const storage::StoreLocation& file,
                                                        collective::Collective& collective,
                                                        std::chrono::nanoseconds timeout) {
  if (training.model.type != job::ModelType::kTorchScript) return std::shared_ptr<const ModuleFile>();
  Result<ModuleFile> module = ReadModuleFile(file);
  RETURN_IF_ERROR(collective::AgreeOn(module.status(), collective, timeout).While("spec.training.model.uri"));
  RETURN_IF_ERROR(
      CheckSameBytesOnAllRanks(*module, collective, Deadline::After(timeout)).While("spec.training.model.uri"));
  return std::make_shared<const ModuleFile>(*std::move(module));
}

}  // namespace espalier::trainer

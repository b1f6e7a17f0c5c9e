// Builds the list of files for each host (Plan), then sends the plans one host after the other (SendPlans). In a plan
// of CopyPartitions, the manifest is last, so it arrives only after all partitions that the host serves.
#include "services/runner/launch/partition_copy.h"

#include <algorithm>
#include <filesystem>

#include "services/base/pluralize.h"
#include "services/base/utf8.h"
#include "services/format/partition/partition_files.h"
#include "services/format/partition/partition_names.h"
#include "services/storage/file_store.h"

namespace espalier::launch {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFiles = 100'000;

// The files to copy to one host.
struct Plan {
  HostSession* session;
  std::vector<FileToSend> files;
};

// Sends the files of all plans, one host after the other, and shows the progress. `what` names them in messages.
Status SendPlans(const std::string& what, const std::vector<Plan>& plans, const CopyTarget& to) {
  const Timer timer;
  uint64_t total = 0;
  for (const Plan& plan : plans) {
    for (const FileToSend& file : plan.files) total += file.entry.size_bytes;
  }
  to.progress.Begin("copying " + what);
  CopyReport done;
  for (const Plan& plan : plans) {
    CopyReport report;
    const auto show = [&] {
      const auto bytes = static_cast<double>(done.bytes + report.bytes);
      to.progress.Update(total == 0 ? -1 : bytes / static_cast<double>(total), plan.session->host().name);
    };
    RETURN_IF_ERROR(SendFiles(*plan.session, plan.files, to.stop, to.heartbeat, &report, show)
                        .While("copying " + what + " to " + plan.session->host().name));
    done.files += report.files;
    done.files_unchanged += report.files_unchanged;
    done.bytes += report.bytes;
    done.bytes_sent += report.bytes_sent;
  }
  to.progress.End("copied " + what + " to " + Pluralize(plans.size(), "host") + " in " +
                  terminal::DurationText(timer.Seconds()) + ": " + Pluralize(done.files, "file") + ", " +
                  std::to_string(done.files_unchanged) + " of them already there, " +
                  terminal::CountText(static_cast<double>(done.bytes_sent)) + "B sent");
  return Status();
}

// Returns a callback that pings the hosts when a ping is due, and fails if a stop is requested.
ProgressCallback MakeProgressCallback(const CopyTarget& to) {
  return [&to] { return to.stop.requested() ? Cancelled("stopped while reading files to copy") : to.heartbeat.Beat(); };
}

std::vector<format::FileEntry> ListFiles(const format::PartitionEntry& partition) {
  std::vector<format::FileEntry> files;
  for (const format::FileEntry* entry : partition.files()) {
    if (!entry->key.empty()) files.push_back(*entry);
  }
  return files;
}

bool Serves(size_t host, size_t hosts, uint32_t partition, uint32_t replicas) {
  for (uint32_t replica = 0; replica < replicas; ++replica) {
    if (FindServerHost(partition, replica, hosts) == host) return true;
  }
  return false;
}

}  // namespace

Result<std::string> CopyPartitions(const std::string& folder, uint32_t replicas, const CopyTarget& to) {
  storage::FileStore store(folder);
  ASSIGN_OR_RETURN(const format::Manifest manifest, format::ReadManifest(store, ""));
  const std::string destination = to.workspace + "/partitions/" + manifest.partition_key;
  const std::string manifest_path = folder + "/" + format::kManifestKey;
  ASSIGN_OR_RETURN(const format::FileEntry manifest_entry, DescribeFile(manifest_path, MakeProgressCallback(to)));
  std::vector<Plan> plans;
  for (size_t host = 0; host < to.hosts.size(); ++host) {
    Plan plan{to.hosts[host], {}};
    for (uint32_t partition = 0; partition < manifest.partitions.size(); ++partition) {
      if (!Serves(host, to.hosts.size(), partition, replicas)) continue;
      for (const format::FileEntry& file : ListFiles(manifest.partitions[partition])) {
        plan.files.push_back({folder + "/" + file.key, destination + "/" + file.key, file});
      }
    }
    if (plan.files.empty()) continue;  // serves no partition
    plan.files.push_back({manifest_path, destination + "/" + format::kManifestKey, manifest_entry});
    plans.push_back(std::move(plan));
  }
  RETURN_IF_ERROR(SendPlans("partitions", plans, to));
  return destination;
}

Status CopyFolder(const std::string& folder, const CopyTarget& to) {
  std::error_code error;
  fs::path root = fs::absolute(folder, error).lexically_normal();
  if (root.filename().empty()) root = root.parent_path();  // after a trailing slash
  if (!fs::is_directory(root, error)) return InvalidArgument(folder + " is not a folder");
  std::vector<FileToSend> files;
  for (fs::recursive_directory_iterator at(root, error), end; !error && at != end; at.increment(error)) {
    if (at->is_symlink(error) && at->is_directory(error)) {
      return InvalidArgument(at->path().string() + " is a link to a folder: links to folders are not copied");
    }
    if (!at->is_regular_file(error)) continue;
    if (files.size() == kMaxFiles) return InvalidArgument(folder + " has more than 100000 files");
    const std::string below = at->path().lexically_relative(root);
    if (!IsUtf8(root.filename().string() + below)) {
      return InvalidArgument("a file in " + at->path().parent_path().string() +
                             " has a name that is not UTF-8: such files are not copied");
    }
    ASSIGN_OR_RETURN(const format::FileEntry entry, DescribeFile(at->path(), MakeProgressCallback(to)));
    files.push_back({at->path(), to.workspace + "/" + root.filename().string() + "/" + below, entry});
  }
  if (error) return FromErrno(error.value(), "listing " + folder);
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.source < b.source; });
  std::vector<Plan> plans;
  for (HostSession* host : to.hosts) plans.push_back({host, files});
  return SendPlans(root.filename(), plans, to);
}

}  // namespace espalier::launch

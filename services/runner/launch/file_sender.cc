#include "services/runner/launch/file_sender.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>

#include "services/format/files/checksum.h"

namespace espalier::launch {
namespace {

// Time limit for a response: the host verifies the existing blocks of a large file, possibly on a slow disk.
constexpr std::chrono::minutes kResponseTimeout{30};
// Limits the hashes in the head of the message `receive`. A hash takes at most 21 bytes: 20 digits and a comma.
constexpr size_t kMaxBlocks = kMaxHeadBytes / 32;

// Discards what is written; only the hashes are needed.
class DiscardingWriter final : public storage::ObjectWriter {
 public:
  Status Write(std::span<const std::byte>) override { return Status(); }
  Status Commit() override { return Status(); }
};

Result<std::string> ReadBlock(const FileToSend& file, uint64_t block) {
  const storage::ByteRange range = format::BlockRange(file.entry, block);
  std::string bytes(range.length, '\0');
  std::ifstream in(file.source, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(range.offset));
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!in) return DataLoss("reading " + file.source + ": it may have been removed or shortened during the copy");
  RETURN_IF_ERROR(format::CheckBlock(file.entry, block, std::as_bytes(std::span(bytes)), file.source));
  return bytes;
}

Status SendFile(HostSession& session, const FileToSend& file, const telemetry::StopSignal& stop, Heartbeat& heartbeat,
                CopyReport* report, const std::function<void()>& on_block) {
  struct stat attributes {};
  if (stat(file.source.c_str(), &attributes) != 0) return FromErrno(errno, "reading " + file.source);
  if (file.entry.block_hashes.size() > kMaxBlocks) {
    return InvalidArgument(file.source + " has " + std::to_string(file.entry.size_bytes) + " bytes: expected at most " +
                           std::to_string(kMaxBlocks * format::kChecksumBlockBytes) + " in a file to copy");
  }
  RETURN_IF_ERROR(session.Send({{"do", "receive"},
                                {"file", file.destination},
                                {"bytes", file.entry.size_bytes},
                                {"mode", attributes.st_mode & 0777},
                                {"blocks", file.entry.block_hashes}}));
  ASSIGN_OR_RETURN(const Message wants, session.Await("wants", stop, Deadline::After(kResponseTimeout), heartbeat));
  for (const nlohmann::json& wanted : wants.head.value("blocks", nlohmann::json::array())) {
    const uint64_t block = wanted.is_number_unsigned() ? wanted.get<uint64_t>() : file.entry.block_hashes.size();
    if (block >= file.entry.block_hashes.size())
      return InvalidArgument(session.host().name + " requested a block that " + file.source + " does not have");
    if (stop.requested()) return Cancelled("stopped while copying to " + session.host().name);
    ASSIGN_OR_RETURN(std::string bytes, ReadBlock(file, block));
    report->bytes_sent += bytes.size();
    RETURN_IF_ERROR(session.Send({{"do", "block"}, {"index", block}}, std::move(bytes), &heartbeat));
    RETURN_IF_ERROR(session.PollMessages());  // reports an error such as a full disk before all blocks are sent
    on_block();
  }
  ASSIGN_OR_RETURN(const Message received,
                   session.Await("received", stop, Deadline::After(kResponseTimeout), heartbeat));
  ++report->files;
  report->files_unchanged += received.Flag("wasThere") ? 1 : 0;
  report->bytes += file.entry.size_bytes;
  on_block();
  return Status();
}

}  // namespace

Result<format::FileEntry> DescribeFile(const std::string& path, const ProgressCallback& on_progress) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return FromErrno(errno, "opening " + path);
  format::HashingWriter hashing(std::make_unique<DiscardingWriter>());
  std::string bytes(size_t{1} << 20, '\0');
  while (file) {
    RETURN_IF_ERROR(on_progress());
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const auto count = static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0));
    RETURN_IF_ERROR(hashing.Write(std::as_bytes(std::span(bytes.data(), count))));
  }
  if (file.bad()) return FromErrno(errno, "reading " + path);
  RETURN_IF_ERROR(hashing.Commit());
  return hashing.Entry(path);
}

Status SendFiles(HostSession& session, const std::vector<FileToSend>& files, const telemetry::StopSignal& stop,
                 Heartbeat& heartbeat, CopyReport* report, const std::function<void()>& on_block) {
  for (const FileToSend& file : files) RETURN_IF_ERROR(SendFile(session, file, stop, heartbeat, report, on_block));
  return Status();
}

}  // namespace espalier::launch

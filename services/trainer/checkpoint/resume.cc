// Rank 0 chooses the newest of the run's own checkpoints (of this or an earlier incarnation) that loads, otherwise the
// checkpoint that the user named. It checks that the checkpoint fits the run, then broadcasts the manifest and the
// stored bytes of all files except learnable rows. Every rank parses these bytes, so that only rank 0 needs the store.
// Learnable rows may be larger than memory, so they are only verified here; ResumePoint::next_rows reads them again
// later, piece by piece.
#include "services/trainer/checkpoint/resume.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "services/collective/agreement.h"
#include "services/format/checkpoint/checkpoint_catalog.h"
#include "services/format/files/stored_safetensors.h"
#include "services/storage/object_key.h"
#include "services/telemetry/log.h"

namespace espalier::trainer {
namespace {

using format::LoadedCheckpoint;
using telemetry::Level;
using telemetry::Log;

constexpr size_t kBroadcastBytes = size_t{64} << 20;  // at most, per operation

// BroadcastChoice transmits `from` and the manifest and files of `checkpoint`, but no other members.
struct Choice {
  std::string from;
  std::shared_ptr<storage::ObjectStore> store;
  LoadedCheckpoint checkpoint;
  bool is_own = false;  // one of the run's own checkpoints
};

std::string DescribeLocation(const storage::StoreLocation& at, const std::string& folder) {
  return at.store->Describe() + (folder.empty() ? "" : "/" + folder);
}

// Loads the newest checkpoint that can be loaded, of incarnations up to `up_to_incarnation`; nullopt: none. Logs
// checkpoints that cannot be loaded.
Result<std::optional<LoadedCheckpoint>> LoadNewest(const storage::StoreLocation& at, const std::string& prefix,
                                                   uint64_t up_to_incarnation) {
  ASSIGN_OR_RETURN(format::NewestCheckpoint newest, format::LoadNewestCheckpoint(*at.store, prefix, up_to_incarnation));
  for (const format::SkippedCheckpoint& skipped : newest.skipped) {
    Log(Level::kError, "skipping a checkpoint that cannot be loaded",
        {{"checkpoint", DescribeLocation(at, skipped.folder)}, {"error", skipped.why}});
  }
  if (!newest.loaded.has_value() && !newest.skipped.empty()) {
    Log(Level::kError, "there are checkpoints, but none can be loaded", {{"in", DescribeLocation(at, prefix)}});
  }
  return std::move(newest.loaded);
}

Status CheckNoneOfThisIncarnation(const ResumeOptions& options) {
  const auto& [store, prefix] = options.checkpoints;
  ASSIGN_OR_RETURN(const auto listings, format::ListCheckpoints(*store, prefix));
  for (const format::CheckpointListing& listing : listings) {
    const bool is_committed = listing.state != format::CheckpointState::kIncomplete;
    if (!is_committed || listing.id.incarnation != options.facts.incarnation) continue;
    return FailedPrecondition("incarnation " + std::to_string(options.facts.incarnation) +
                              " has written checkpoints already, for example " +
                              DescribeLocation(options.checkpoints, listing.folder) +
                              ": resume from them, start over with a higher incarnation, or remove them");
  }
  return Status();
}

// Loads the checkpoint at `at`, which the document or a flag names. If `at` is a folder of checkpoints, loads the
// newest one that can be loaded.
Result<LoadedCheckpoint> LoadNamed(const storage::StoreLocation& at) {
  ASSIGN_OR_RETURN(const format::CheckpointPlace place, format::FindCheckpoints(*at.store, at.prefix));
  if (place.is_checkpoint) return format::LoadCheckpoint(*at.store, place.prefix);
  ASSIGN_OR_RETURN(std::optional<LoadedCheckpoint> newest,
                   LoadNewest(at, place.prefix, std::numeric_limits<uint64_t>::max()));
  if (newest.has_value()) return *std::move(newest);
  return NotFound("no checkpoint can be loaded from " + DescribeLocation(at, place.prefix));
}

// Chooses and loads a checkpoint, on rank 0. nullopt: start from the beginning.
Result<std::optional<Choice>> Choose(const ResumeOptions& options) {
  const storage::StoreLocation& own = options.checkpoints;
  if (options.mode == ResumeMode::kNever) {
    if (own.store != nullptr) RETURN_IF_ERROR(CheckNoneOfThisIncarnation(options));
    return std::optional<Choice>();
  }
  if (own.store != nullptr) {
    ASSIGN_OR_RETURN(std::optional<LoadedCheckpoint> newest, LoadNewest(own, own.prefix, options.facts.incarnation));
    if (newest.has_value())
      return std::optional(Choice{DescribeLocation(own, newest->folder), own.store, *std::move(newest), true});
  }
  if (options.resume_from.store == nullptr) return std::optional<Choice>();
  Result<LoadedCheckpoint> named = LoadNamed(options.resume_from);
  if (!named.ok()) return std::move(named).status().While("the checkpoint to resume from");
  const storage::StoreLocation& at = options.resume_from;
  return std::optional(Choice{DescribeLocation(at, named->folder), at.store, *std::move(named), false});
}

// Returns the checkpoint that Choose returns, after checking that it fits the run.
Result<std::optional<Choice>> ChooseFitting(const ResumeOptions& options) {
  ASSIGN_OR_RETURN(std::optional<Choice> choice, Choose(options));
  if (!choice.has_value()) return choice;
  const format::CheckpointManifest& manifest = choice->checkpoint.manifest;
  RETURN_IF_ERROR(CheckFits(manifest, options.facts).While("resuming from " + choice->from));
  for (const std::string& change : DescribeChanges(manifest, options.facts)) {
    Log(Level::kWarning, "resuming with other settings", {{"change", change}});
  }
  Log(Level::kInfo, "resuming",
      {{"from", choice->from},
       {"epoch", manifest.epoch},
       {"step", manifest.next_step},
       {"end", ToString(manifest.end)}});
  return choice;
}

// Broadcasts bytes from rank 0, in several operations of limited size, so that none of them takes long.
Status BroadcastBytes(std::span<std::byte> bytes, collective::Collective& collective, const Timeouts& timeouts) {
  for (size_t offset = 0; offset < bytes.size(); offset += kBroadcastBytes) {
    RETURN_IF_ERROR(collective.Broadcast(bytes.subspan(offset, std::min(kBroadcastBytes, bytes.size() - offset)),
                                         Rank(0), timeouts.ForCollective()));
  }
  return Status();
}

Result<std::string> BroadcastText(std::string text, collective::Collective& collective, const Timeouts& timeouts) {
  uint64_t size = text.size();
  RETURN_IF_ERROR(BroadcastBytes(std::as_writable_bytes(std::span(&size, 1)), collective, timeouts));
  text.resize(size);
  RETURN_IF_ERROR(BroadcastBytes(std::as_writable_bytes(std::span<char>(text)), collective, timeouts));
  return text;
}

// Broadcasts rank 0's choice. Ranks other than 0 pass nullopt. All ranks return the same choice.
Result<std::optional<Choice>> BroadcastChoice(std::optional<Choice> own, collective::Collective& collective,
                                              const Timeouts& timeouts) {
  if (collective.size() == 1) return own;
  std::string manifest_text = own.has_value() ? CheckpointManifestToJson(own->checkpoint.manifest) : "";
  ASSIGN_OR_RETURN(manifest_text, BroadcastText(std::move(manifest_text), collective, timeouts));
  if (manifest_text.empty()) return std::optional<Choice>();
  Choice choice;
  ASSIGN_OR_RETURN(choice.from, BroadcastText(own.has_value() ? own->from : "", collective, timeouts));
  ASSIGN_OR_RETURN(choice.checkpoint.manifest, format::CheckpointManifestFromJson(manifest_text));
  Status parsed;
  for (const format::FileEntry& entry : choice.checkpoint.manifest.files) {
    const bool is_root = own.has_value();
    if (format::IsLearnablePiece(entry.key)) continue;  // not broadcast: rank 0 writes these to the servers
    auto bytes = std::make_shared<std::string>(is_root ? *own->checkpoint.bytes.at(entry.key)
                                                       : std::string(entry.size_bytes, '\0'));
    RETURN_IF_ERROR(BroadcastBytes(std::as_writable_bytes(std::span<char>(*bytes)), collective, timeouts));
    auto file = format::ParseStoredSafetensors(entry, std::move(bytes), entry.key);
    if (parsed.ok()) parsed = file.status();
    if (file.ok()) choice.checkpoint.files[entry.key] = *std::move(file);
  }
  RETURN_IF_ERROR(collective::AgreeOn(parsed, collective, timeouts.collective));
  return std::optional(std::move(choice));
}

// Returns a reader of the pieces of a checkpoint's learnable rows, in order.
NextPiece OpenPieces(std::shared_ptr<storage::ObjectStore> store, std::string folder,
                     const format::CheckpointManifest& manifest) {
  std::vector<format::FileEntry> pieces;
  for (const format::FileEntry& entry : manifest.files) {
    if (format::IsLearnablePiece(entry.key)) pieces.push_back(entry);
  }
  std::sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) {
    // Compares lengths first, because a number may have more digits than the padding.
    return std::pair(a.key.size(), a.key) < std::pair(b.key.size(), b.key);
  });
  return [store = std::move(store), folder = std::move(folder), pieces = std::move(pieces),
          next = size_t{0}]() mutable -> Result<std::optional<format::Safetensors>> {
    if (next == pieces.size()) return std::optional<format::Safetensors>();
    Result<format::Safetensors> piece = format::ReadCheckpointFile(*store, folder, pieces[next++]);
    if (piece.ok()) return std::optional(*std::move(piece));
    if (!format::IsCheckpointCorruption(piece.status().code())) return piece.status();
    // The checksums were verified before. Unavailable restarts the run, which then looks for another checkpoint.
    return Unavailable("the checkpoint has changed since it was verified: " + piece.status().message());
  };
}

}  // namespace

Result<std::optional<ResumePoint>> FindResumePoint(const ResumeOptions& options, collective::Collective& collective) {
  Result<std::optional<Choice>> own = std::optional<Choice>();
  // Runs on a side thread, because loading a large checkpoint from a slow store may take longer than a collective
  // operation may wait.
  const auto load = [&] {
    own = ChooseFitting(options);
    return own.status();
  };
  RETURN_IF_ERROR(collective::RunOnSideThread(Rank(0), load, collective, options.timeouts.collective));
  std::optional<format::CheckpointId> loaded;
  NextPiece next_rows;
  if (own->has_value()) {
    const format::LoadedCheckpoint& checkpoint = (*own)->checkpoint;
    if ((*own)->is_own) loaded = checkpoint.manifest.id;
    next_rows = OpenPieces((*own)->store, checkpoint.folder, checkpoint.manifest);
  }
  ASSIGN_OR_RETURN(const std::optional<Choice> choice, BroadcastChoice(*std::move(own), collective, options.timeouts));
  if (!choice.has_value()) return std::optional<ResumePoint>();
  ASSIGN_OR_RETURN(LoopSnapshot snapshot, ToSnapshot(choice->checkpoint).While(choice->from));
  return std::optional(ResumePoint{choice->from, std::move(snapshot), std::move(next_rows), loaded});
}

}  // namespace espalier::trainer

// espalier checkpoint: lists, inspects and verifies the checkpoints of a run.
//
// All three subcommands resolve the URI to one checkpoint or to a folder of checkpoints (Open), then read the listings
// (ReadListings). `ls` and `inspect` read manifests only. `verify` also reads every file of each complete checkpoint.
// It ends early if the store cannot be read. After a corrupt checkpoint it continues, and the exit code is kBadInput.
#include <ctime>
#include <nlohmann/json.hpp>

#include "services/base/environment.h"
#include "services/base/format_number.h"
#include "services/cli/command.h"
#include "services/format/checkpoint/checkpoint_catalog.h"
#include "services/storage/open_store.h"

namespace espalier::cli {
namespace {

using format::CheckpointListing;
using format::CheckpointManifest;
using format::CheckpointState;
using nlohmann::ordered_json;

constexpr const char* kCheckpointFooter = R"(Examples:
  espalier checkpoint ls out
  espalier checkpoint inspect s3://results/cora/checkpoints
  espalier checkpoint inspect out/checkpoints/000001-000000000040 --json
  espalier checkpoint verify out

The URI is that of a run, of its checkpoints, or of one checkpoint. If there are several checkpoints, `inspect` shows
the newest complete one. `verify` reads every file and checks every checksum. Its exit code is 65 if a checkpoint is
corrupt.)";

struct CheckpointFlags {
  std::string uri;
  OutputFlags out;
};

struct Place {
  storage::StoreLocation at;
  format::CheckpointPlace found;
};

Result<Place> Open(const std::string& uri, const storage::StoreOpener& open_store) {
  Place place;
  ASSIGN_OR_RETURN(place.at, open_store(uri));
  ASSIGN_OR_RETURN(place.found, format::FindCheckpoints(*place.at.store, place.at.prefix));
  return place;
}

const char* ToString(CheckpointState state) {
  switch (state) {
    case CheckpointState::kComplete: return "complete";
    case CheckpointState::kIncomplete: return "incomplete";
    case CheckpointState::kCorrupt: return "corrupt";
  }
  return "";
}

std::string TimeText(uint64_t unix_seconds) {
  const auto time = static_cast<std::time_t>(unix_seconds);
  std::tm utc{};
  char text[64];
  if (gmtime_r(&time, &utc) == nullptr || std::strftime(text, sizeof(text), "%FT%TZ", &utc) == 0) return "unknown";
  return text;
}

// Returns the listing of one checkpoint, or of all checkpoints in the folder, oldest first.
Result<std::vector<CheckpointListing>> ReadListings(const Place& place) {
  if (!place.found.is_checkpoint) return format::ListCheckpoints(*place.at.store, place.found.prefix);
  CheckpointListing one;
  one.folder = place.found.prefix;
  one.state = CheckpointState::kComplete;
  ASSIGN_OR_RETURN(one.manifest, format::ReadCheckpointManifest(*place.at.store, one.folder));
  one.id = one.manifest.id;
  one.stored_bytes = one.manifest.size_bytes();
  return std::vector{std::move(one)};
}

std::string MetricText(const format::CheckpointMetric& metric) {
  if (!metric.value.has_value()) return "";
  return "  " + metric.name + " " + FormatSignificant(*metric.value, 4);
}

std::string FormatLine(const CheckpointListing& listing) {
  std::string line = format::CheckpointFolderName(listing.id) + "  " + ToString(listing.state) + "  " +
                     terminal::BytesText(listing.stored_bytes);
  if (listing.state == CheckpointState::kComplete) {
    const CheckpointManifest& manifest = listing.manifest;
    line += "  epoch " + std::to_string(manifest.epoch) + " step " + std::to_string(manifest.next_step) + "  " +
            TimeText(manifest.created_unix_seconds) + MetricText(manifest.metric);
  }
  if (!listing.problem.ok()) line += "  " + listing.problem.message();
  return line + "\n";
}

ordered_json ToJson(const CheckpointListing& listing) {
  ordered_json json = {{"name", format::CheckpointFolderName(listing.id)},
                       {"incarnation", listing.id.incarnation},
                       {"globalStep", listing.id.global_step},
                       {"state", ToString(listing.state)},
                       {"bytes", listing.stored_bytes}};
  if (listing.state == CheckpointState::kComplete) {
    const CheckpointManifest& manifest = listing.manifest;
    json["epoch"] = manifest.epoch;
    json["step"] = manifest.next_step;
    json["created"] = TimeText(manifest.created_unix_seconds);
    json["metric"] = manifest.metric.name;
    json["value"] = manifest.metric.value.has_value() ? ordered_json(*manifest.metric.value) : ordered_json(nullptr);
  }
  if (!listing.problem.ok()) json["problem"] = listing.problem.message();
  return json;
}

std::string DumpJson(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Outcome List(const Place& place, const CheckpointFlags& flags) {
  const auto listings = ReadListings(place);
  if (!listings.ok()) return Fail(listings.status());
  std::string text;
  ordered_json json = ordered_json::array();
  for (const CheckpointListing& listing : *listings) {
    text += FormatLine(listing);
    json.push_back(ToJson(listing));
  }
  return Done(flags.out.json ? DumpJson({{"uri", flags.uri}, {"checkpoints", json}}) : text);
}

std::string ToText(const CheckpointManifest& manifest) {
  std::string text = format::CheckpointFolderName(manifest.id) + " of job " + manifest.job_name + ", " +
                     TimeText(manifest.created_unix_seconds) + ", " + terminal::BytesText(manifest.size_bytes()) + "\n";
  text += "  resumes with  epoch " + std::to_string(manifest.epoch) + " step " + std::to_string(manifest.next_step) +
          "; " + std::to_string(manifest.num_epochs) + " epochs of " + std::to_string(manifest.steps_per_epoch) +
          " steps each (end: " + ToString(manifest.end) + ")\n";
  if (manifest.loop.best_validation.has_value()) {
    text += "  best          epoch " + std::to_string(manifest.loop.best_epoch) +
            MetricText({manifest.metric.name, manifest.metric.higher_is_better, manifest.loop.best_validation}) + "\n";
  }
  text += "  written by    " + std::to_string(manifest.num_trainers) + " trainers of " +
          std::to_string(manifest.math.threads) + " threads, " + std::to_string(manifest.num_partitions) +
          " partitions, torch " + manifest.math.torch + ", " + manifest.math.blas + " (" + manifest.math.blas_kernel +
          "), all-reduce " + manifest.math.collective + "\n";
  uint64_t num_pieces = 0, piece_bytes = 0;
  for (const format::FileEntry& file : manifest.files) {
    if (format::IsLearnablePiece(file.key)) {
      ++num_pieces;
      piece_bytes += file.size_bytes;
      continue;
    }
    text += "  file          " + file.key + "  " + terminal::BytesText(file.size_bytes) + "\n";
  }
  if (num_pieces > 0) {
    text +=
        "  learnable     " + std::to_string(num_pieces) + " files of rows, " + terminal::BytesText(piece_bytes) + "\n";
  }
  for (const auto& [path, value] : manifest.fields) text += "  " + path + " = " + value + "\n";
  return text;
}

Outcome Inspect(const Place& place, const CheckpointFlags& flags) {
  const auto listings = ReadListings(place);
  if (!listings.ok()) return Fail(listings.status());
  for (auto listing = listings->rbegin(); listing != listings->rend(); ++listing) {
    if (listing->state != CheckpointState::kComplete) continue;
    return Done(flags.out.json ? format::CheckpointManifestToJson(listing->manifest) : ToText(listing->manifest));
  }
  return Fail(NotFound("no complete checkpoint in " + flags.uri));
}

Outcome Verify(const Place& place, const CheckpointFlags& flags) {
  auto listings = ReadListings(place);
  if (!listings.ok()) return Fail(listings.status());
  terminal::Progress progress(ToProgressStyle(flags.out), stderr);
  Outcome outcome;
  std::string text;
  ordered_json json = ordered_json::array();
  for (CheckpointListing& listing : *listings) {
    progress.Begin("verifying " + format::CheckpointFolderName(listing.id));
    if (listing.state == CheckpointState::kComplete) {
      listing.problem = format::VerifyCheckpoint(*place.at.store, listing.folder);
      const StatusCode code = listing.problem.code();
      if (!listing.problem.ok() && !format::IsCheckpointCorruption(code)) return Fail(listing.problem);
      if (!listing.problem.ok()) listing.state = CheckpointState::kCorrupt;
    }
    if (listing.state == CheckpointState::kCorrupt) {
      outcome.code = ExitCode::kBadInput;
      outcome.error += (outcome.error.empty() ? "" : "\n") + listing.folder + ": " + listing.problem.message();
    }
    text += FormatLine(listing);
    json.push_back(ToJson(listing));
  }
  if (flags.out.json) {
    outcome.output = DumpJson({{"uri", flags.uri}, {"ok", outcome.code == ExitCode::kDone}, {"checkpoints", json}});
  } else if (!flags.out.quiet) {
    outcome.output = text;
  }
  return outcome;
}

using Run = Outcome (*)(const Place&, const CheckpointFlags&);

Outcome OpenAndRun(Run run, const CheckpointFlags& flags) {
  Result<storage::StoreSettings> settings = storage::ParseStoreSettings(ReadEnvironment());
  if (!settings.ok()) return Fail(ExitCode::kBadDocument, settings.status().message());
  const storage::StoreOpener open_store = storage::OpenerWith(*std::move(settings));
  const Result<Place> place = Open(flags.uri, open_store);
  if (!place.ok()) return FailAt(flags.uri, place.status(), open_store);
  return run(*place, flags);
}

void AddSubcommand(CLI::App* parent, const char* name, const char* what, Run run, Command* chosen) {
  CLI::App* command = parent->add_subcommand(name, what);
  auto flags = std::make_shared<CheckpointFlags>();
  command->add_option("uri", flags->uri, "A run, its checkpoints, or one checkpoint: path, file: or s3: URI")
      ->required();
  if (run == Verify) {
    AddOutputFlags(command, &flags->out);
  } else {  // the other subcommands print only their result, so --quiet would have no effect
    AddJsonFlag(command, &flags->out.json);
  }
  command->callback([=] { *chosen = [run, flags] { return OpenAndRun(run, *flags); }; });
}

}  // namespace

void AddCheckpointCommand(CLI::App* app, Command* chosen) {
  CLI::App* command = app->add_subcommand("checkpoint", "List, inspect and verify a run's checkpoints");
  command->require_subcommand(1);
  AddSubcommand(command, "ls", "One line for each checkpoint, oldest first", List, chosen);
  AddSubcommand(command, "inspect",
                "Epoch and step of a checkpoint, the run that wrote it, and the settings that determine results",
                Inspect, chosen);
  AddSubcommand(command, "verify", "Read all files and check all checksums", Verify, chosen);
  command->footer(kCheckpointFooter);  // set last: subcommands that are added later would inherit it
}

}  // namespace espalier::cli

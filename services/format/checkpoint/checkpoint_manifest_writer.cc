// Formats checkpoint manifests, with fields in a fixed order.
#include <cmath>
#include <nlohmann/json.hpp>

#include "services/base/sha256.h"
#include "services/format/checkpoint/checkpoint_manifest.h"
#include "services/format/files/file_entry_json.h"

namespace espalier::format {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinities and NaN, but the loss and metrics of a diverged run may have these values.
Json RealToJson(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

Json OrNull(const std::optional<double>& value) { return value.has_value() ? RealToJson(*value) : Json(nullptr); }

Json ToJson(const CheckpointMath& math) {
  return {{"threads", math.threads},
          {"torch", math.torch},
          {"blas", math.blas},
          {"blas_kernel", math.blas_kernel},
          {"device", math.device},
          {"precision", math.precision},
          {"collective", math.collective},
          {"cpu_capability", math.cpu_capability}};
}

Json ToJson(const EpochRecord& epoch) {
  Json seconds = Json::object();
  for (const auto& [part, value] : epoch.seconds) seconds[part] = RealToJson(value);
  return {{"epoch", epoch.epoch},
          {"loss", RealToJson(epoch.loss)},
          {"learning_rate", RealToJson(epoch.learning_rate)},
          {"validation", OrNull(epoch.validation)},
          {"seeds", epoch.num_seeds},
          {"total_seconds", RealToJson(epoch.total_seconds)},
          {"seconds", seconds}};
}

Json ToJson(const LoopRecord& loop) {
  Json losses = Json::array(), epochs = Json::array();
  for (const double loss : loop.first_epoch_losses) losses.push_back(RealToJson(loss));
  for (const EpochRecord& epoch : loop.epochs) epochs.push_back(ToJson(epoch));
  return {{"best_epoch", loop.best_epoch},
          {"best_validation", OrNull(loop.best_validation)},
          {"evaluations_since_best", loop.evaluations_since_best},
          {"partial_epoch", ToJson(loop.partial)},
          {"epochs", epochs},
          {"first_epoch_losses", losses}};
}

Json ToJson(const CheckpointMetric& metric) {
  return {
      {"name", metric.name}, {"better", metric.higher_is_better ? "higher" : "lower"}, {"value", OrNull(metric.value)}};
}

Json ToJson(const std::vector<FileEntry>& files) {
  Json list = Json::array();
  for (const FileEntry& file : files) list.push_back(FileEntryToJson(file));
  return list;
}

}  // namespace

uint64_t CheckpointManifest::size_bytes() const {
  uint64_t sum = 0;
  for (const FileEntry& file : files) sum += file.size_bytes;
  return sum;
}

std::string DigestFields(const std::map<std::string, std::string>& fields) {
  Sha256 digest;
  for (const auto& [path, value] : fields) {
    // The lengths make the encoding unambiguous: different fields never give the same text.
    digest.Update(std::to_string(path.size()) + ":" + path + " " + std::to_string(value.size()) + ":" + value + "\n");
  }
  return digest.HexDigest();
}

const char* ToString(CheckpointEnd end) {
  switch (end) {
    case CheckpointEnd::kNotEnded: return "GoesOn";
    case CheckpointEnd::kAllEpochs: return "AllEpochs";
    case CheckpointEnd::kEarlyStopping: return "EarlyStopping";
  }
  return "";
}

std::string CheckpointManifestToJson(const CheckpointManifest& manifest) {
  const Json json = {{"format", kCheckpointFormatName},
                     {"format_version", kCheckpointFormatVersion},
                     {"job", manifest.job_name},
                     {"incarnation", manifest.id.incarnation},
                     {"global_step", manifest.id.global_step},
                     {"epoch", manifest.epoch},
                     {"next_step", manifest.next_step},
                     {"steps_per_epoch", manifest.steps_per_epoch},
                     {"epochs", manifest.num_epochs},
                     {"end", ToString(manifest.end)},
                     {"created_unix_seconds", manifest.created_unix_seconds},
                     {"seed", manifest.seed},
                     {"job_digest", DigestFields(manifest.fields)},
                     {"fields", manifest.fields.empty() ? Json::object() : Json(manifest.fields)},
                     {"partition_key", manifest.partition_key},
                     {"partitions", manifest.num_partitions},
                     {"trainers", manifest.num_trainers},
                     {"math", ToJson(manifest.math)},
                     {"metric", ToJson(manifest.metric)},
                     {"files", ToJson(manifest.files)},
                     {"loop", ToJson(manifest.loop)}};
  // Names that are not UTF-8 cannot be represented in JSON; invalid bytes become U+FFFD.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace espalier::format

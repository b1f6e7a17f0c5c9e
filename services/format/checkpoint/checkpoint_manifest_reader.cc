// Parses checkpoint manifests. JSON has no infinities and NaN, so the strings "inf", "-inf" and "nan" represent them.
// Besides types, the functions check that fields agree: global_step with epoch and next_step, the number of epoch
// reports with epoch, job_digest with fields.
#include <limits>
#include <set>

#include "services/format/checkpoint/checkpoint_manifest.h"
#include "services/format/files/file_entry_json.h"
#include "services/format/files/strict_json.h"

namespace espalier::format {
namespace {

using nlohmann::json;

Result<double> RealFrom(const json& value, const std::string& path) {
  if (value.is_number()) return value.get<double>();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  return InvalidArgument(path + ": expected a number, \"inf\", \"-inf\" or \"nan\"");
}

// Adds to JsonFields the types that only checkpoint manifests have: 32-bit counts, and reals that may be infinite or
// NaN.
class CheckpointFields {
 public:
  explicit CheckpointFields(JsonFields fields) : fields_(std::move(fields)) {}
  const JsonFields& fields() const { return fields_; }

  Result<uint32_t> Unsigned32(const char* name) const {
    ASSIGN_OR_RETURN(const uint64_t value, fields_.Unsigned(name));
    if (value > UINT32_MAX) return fields_.InvalidField(name, "expected an integer below 2^32");
    return static_cast<uint32_t>(value);
  }

  Result<double> Real(const char* name) const {
    ASSIGN_OR_RETURN(const std::optional<double> value, OptionalReal(name));
    if (!value.has_value()) return fields_.InvalidField(name, "expected a number");
    return *value;
  }

  // Returns nullopt for null.
  Result<std::optional<double>> OptionalReal(const char* name) const {
    std::optional<double> found;
    bool is_present = false;
    RETURN_IF_ERROR(
        fields_.ForEachField([&](const std::string& key, const json& value, const std::string& path) -> Status {
          if (key != name) return Status();
          is_present = true;
          if (value.is_null()) return Status();
          ASSIGN_OR_RETURN(found, RealFrom(value, path));
          return Status();
        }));
    if (!is_present) return fields_.InvalidField(name, "missing");
    return found;
  }

 private:
  JsonFields fields_;
};

Result<EpochRecord> EpochFrom(const JsonFields& object) {
  const CheckpointFields fields(object);
  EpochRecord epoch;
  ASSIGN_OR_RETURN(epoch.epoch, fields.Unsigned32("epoch"));
  ASSIGN_OR_RETURN(epoch.loss, fields.Real("loss"));
  ASSIGN_OR_RETURN(epoch.learning_rate, fields.Real("learning_rate"));
  ASSIGN_OR_RETURN(epoch.validation, fields.OptionalReal("validation"));
  ASSIGN_OR_RETURN(epoch.num_seeds, object.Unsigned("seeds"));
  ASSIGN_OR_RETURN(epoch.total_seconds, fields.Real("total_seconds"));
  ASSIGN_OR_RETURN(const JsonFields seconds, object.Object("seconds"));
  RETURN_IF_ERROR(seconds.ForEachField([&](const std::string& part, const json& value, const std::string& path) {
    const Result<double> real = RealFrom(value, path);
    if (real.ok()) epoch.seconds[part] = *real;
    return real.status();
  }));
  return epoch;
}

Result<LoopRecord> LoopFrom(const JsonFields& object) {
  const CheckpointFields fields(object);
  LoopRecord loop;
  ASSIGN_OR_RETURN(loop.best_epoch, fields.Unsigned32("best_epoch"));
  ASSIGN_OR_RETURN(loop.best_validation, fields.OptionalReal("best_validation"));
  ASSIGN_OR_RETURN(loop.evaluations_since_best, object.Unsigned("evaluations_since_best"));
  if (loop.evaluations_since_best > INT64_MAX)
    return object.InvalidField("evaluations_since_best", "expected less than 2^63");
  ASSIGN_OR_RETURN(const JsonFields partial, object.Object("partial_epoch"));
  ASSIGN_OR_RETURN(loop.partial, EpochFrom(partial));
  RETURN_IF_ERROR(object.ForEach("epochs", [&](const json& element, const std::string& path) -> Status {
    ASSIGN_OR_RETURN(const JsonFields epoch, JsonFields::Of(element, path));
    ASSIGN_OR_RETURN(loop.epochs.emplace_back(), EpochFrom(epoch));
    if (loop.epochs.back().epoch + 1 == loop.epochs.size()) return Status();
    return epoch.InvalidField("epoch", "expected " + std::to_string(loop.epochs.size() - 1));
  }));
  RETURN_IF_ERROR(object.ForEach("first_epoch_losses", [&](const json& element, const std::string& path) -> Status {
    ASSIGN_OR_RETURN(loop.first_epoch_losses.emplace_back(), RealFrom(element, path));
    return Status();
  }));
  return loop;
}

Result<CheckpointMath> MathFrom(const JsonFields& fields) {
  CheckpointMath math;
  ASSIGN_OR_RETURN(math.threads, fields.Unsigned("threads"));
  ASSIGN_OR_RETURN(math.torch, fields.Text("torch"));
  ASSIGN_OR_RETURN(math.cpu_capability, fields.Text("cpu_capability"));
  ASSIGN_OR_RETURN(math.blas, fields.Text("blas"));
  ASSIGN_OR_RETURN(math.blas_kernel, fields.Text("blas_kernel"));
  if (fields.Has("device")) {  // absent in checkpoints that were written before trainers could use GPUs
    ASSIGN_OR_RETURN(math.device, fields.Text("device"));
  }
  if (fields.Has("precision")) {  // absent in checkpoints that were written before it could be chosen
    ASSIGN_OR_RETURN(math.precision, fields.Text("precision"));
  }
  ASSIGN_OR_RETURN(math.collective, fields.Text("collective"));
  return math;
}

Result<CheckpointMetric> MetricFrom(const JsonFields& fields) {
  CheckpointMetric metric;
  ASSIGN_OR_RETURN(metric.name, fields.Text("name"));
  ASSIGN_OR_RETURN(const std::string better, fields.Text("better"));
  if (better != "higher" && better != "lower") return fields.InvalidField("better", "expected 'higher' or 'lower'");
  metric.higher_is_better = better == "higher";
  ASSIGN_OR_RETURN(metric.value, CheckpointFields(fields).OptionalReal("value"));
  return metric;
}

Result<std::vector<FileEntry>> FilesFrom(const JsonFields& fields) {
  std::vector<FileEntry> files;
  RETURN_IF_ERROR(fields.ForEach("files", [&](const json& element, const std::string& path) -> Status {
    ASSIGN_OR_RETURN(const JsonFields file, JsonFields::Of(element, path));
    ASSIGN_OR_RETURN(files.emplace_back(), FileEntryFromJson(file));
    return Status();
  }));
  return files;
}

Status ReadFiles(const JsonFields& document, CheckpointManifest* manifest) {
  ASSIGN_OR_RETURN(manifest->files, FilesFrom(document));
  std::set<std::string> keys;
  uint64_t total = 0;
  for (const FileEntry& file : manifest->files) {
    if (!keys.insert(file.key).second) return document.InvalidField("files", "'" + file.key + "' is listed twice");
    if (file.size_bytes >> 62 != 0 || (total += file.size_bytes) >> 62 != 0) {
      return document.InvalidField("files", "expected less than 2^62 bytes in total");
    }
  }
  for (const char* needed : {kCheckpointModel, kCheckpointOptimizer}) {
    if (!keys.contains(needed)) return document.InvalidField("files", std::string("'") + needed + "' is missing");
  }
  return Status();
}

Status CheckCheckpointFormat(const JsonFields& document) {
  ASSIGN_OR_RETURN(const std::string format, document.Text("format"));
  if (format != kCheckpointFormatName) {
    return document.InvalidField("format",
                                 "expected '" + std::string(kCheckpointFormatName) + "', found '" + format + "'");
  }
  ASSIGN_OR_RETURN(const uint64_t version, document.Unsigned("format_version"));
  if (version == static_cast<uint64_t>(kCheckpointFormatVersion)) return Status();
  return document.InvalidField("format_version", "this checkpoint has version " + std::to_string(version) +
                                                     ", this program supports version " +
                                                     std::to_string(kCheckpointFormatVersion));
}

Status ReadPosition(const JsonFields& document, CheckpointManifest* manifest) {
  const CheckpointFields fields(document);
  ASSIGN_OR_RETURN(manifest->id.incarnation, document.Unsigned("incarnation"));
  ASSIGN_OR_RETURN(manifest->id.global_step, document.Unsigned("global_step"));
  ASSIGN_OR_RETURN(manifest->epoch, fields.Unsigned32("epoch"));
  ASSIGN_OR_RETURN(manifest->next_step, fields.Unsigned32("next_step"));
  ASSIGN_OR_RETURN(manifest->steps_per_epoch, fields.Unsigned32("steps_per_epoch"));
  ASSIGN_OR_RETURN(manifest->num_epochs, fields.Unsigned32("epochs"));
  if (manifest->next_step > manifest->steps_per_epoch) {
    return document.InvalidField("next_step", "expected at most steps_per_epoch");
  }
  const uint64_t steps = uint64_t{manifest->epoch} * manifest->steps_per_epoch + manifest->next_step;
  if (manifest->id.global_step != steps) {
    return document.InvalidField("global_step",
                                 "expected " + std::to_string(steps) + ": epoch * steps_per_epoch + next_step");
  }
  ASSIGN_OR_RETURN(const std::string end, document.Text("end"));
  for (const CheckpointEnd known :
       {CheckpointEnd::kNotEnded, CheckpointEnd::kAllEpochs, CheckpointEnd::kEarlyStopping}) {
    if (end != ToString(known)) continue;
    manifest->end = known;
    return Status();
  }
  return document.InvalidField("end", "expected GoesOn, AllEpochs or EarlyStopping, found '" + end + "'");
}

Status ReadJob(const JsonFields& document, CheckpointManifest* manifest) {
  const CheckpointFields fields(document);
  ASSIGN_OR_RETURN(manifest->job_name, document.Text("job"));
  ASSIGN_OR_RETURN(manifest->created_unix_seconds, document.Unsigned("created_unix_seconds"));
  ASSIGN_OR_RETURN(manifest->seed, document.Unsigned("seed"));
  ASSIGN_OR_RETURN(const JsonFields settings, document.Object("fields"));
  RETURN_IF_ERROR(settings.ForEachField([&](const std::string& key, const json&, const std::string&) -> Status {
    ASSIGN_OR_RETURN(manifest->fields[key], settings.Text(key.c_str()));
    return Status();
  }));
  ASSIGN_OR_RETURN(const std::string digest, document.Text("job_digest"));
  if (digest != DigestFields(manifest->fields))
    return document.InvalidField("job_digest", "expected the digest of 'fields'");
  ASSIGN_OR_RETURN(manifest->partition_key, document.Text("partition_key"));
  ASSIGN_OR_RETURN(manifest->num_partitions, fields.Unsigned32("partitions"));
  ASSIGN_OR_RETURN(manifest->num_trainers, fields.Unsigned32("trainers"));
  ASSIGN_OR_RETURN(const JsonFields math, document.Object("math"));
  ASSIGN_OR_RETURN(manifest->math, MathFrom(math));
  ASSIGN_OR_RETURN(const JsonFields metric, document.Object("metric"));
  ASSIGN_OR_RETURN(manifest->metric, MetricFrom(metric));
  return Status();
}

Status ReadLoop(const JsonFields& document, CheckpointManifest* manifest) {
  ASSIGN_OR_RETURN(const JsonFields fields, document.Object("loop"));
  ASSIGN_OR_RETURN(manifest->loop, LoopFrom(fields));
  if (manifest->loop.epochs.size() != manifest->epoch) {
    return fields.InvalidField("epochs", "expected one report for each of " + std::to_string(manifest->epoch) +
                                             " epochs, found " + std::to_string(manifest->loop.epochs.size()));
  }
  if (manifest->loop.first_epoch_losses.size() > manifest->steps_per_epoch) {
    return fields.InvalidField("first_epoch_losses", "expected at most 'steps_per_epoch' losses");
  }
  return Status();
}

}  // namespace

Result<CheckpointManifest> CheckpointManifestFromJson(const std::string& text) {
  ASSIGN_OR_RETURN(const json parsed, ParseStrictJson(text, kMaxManifestDepth));
  ASSIGN_OR_RETURN(const JsonFields document, JsonFields::Of(parsed, ""));
  RETURN_IF_ERROR(CheckCheckpointFormat(document));
  CheckpointManifest manifest;
  RETURN_IF_ERROR(ReadPosition(document, &manifest));
  RETURN_IF_ERROR(ReadJob(document, &manifest));
  RETURN_IF_ERROR(ReadLoop(document, &manifest));
  RETURN_IF_ERROR(ReadFiles(document, &manifest));
  return manifest;
}

}  // namespace espalier::format

#include "operator/controller/write_progress.h"

namespace espalier::ctl::controller {

Result<kube::Json> WriteProgress(client::ApiClient& client, const kube::ObjectMeta& training,
                                 const api::Progress& progress, const std::string& based_on) {
  kube::Json object = {
      {"apiVersion", kube::kDistTrainings.api_version()},
      {"kind", kube::kDistTrainings.kind},
      {"metadata", {{"name", training.key.name}, {"namespace", training.key.name_space}, {"uid", training.uid}}},
      {"status", {{"progress", api::ProgressToJson(progress)}}}};
  if (!based_on.empty()) object["metadata"]["resourceVersion"] = based_on;
  kube::ApplyOptions options;
  options.field_manager = kProgressFieldManager;
  return client.ApplyStatus(kube::kDistTrainings, object, options);
}

}  // namespace espalier::ctl::controller

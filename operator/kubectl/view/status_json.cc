#include "operator/kubectl/view/status_json.h"

#include "operator/kubectl/view/status_text.h"

namespace espalier::ctl::view {

using kube::Json;

Json StatusJson(const api::DistTraining& training, const std::vector<JobEvent>& events) {
  Json json = {{"name", training.meta.key.name},
               {"namespace", training.meta.key.name_space},
               {"uid", training.meta.uid},
               {"status", api::ToJson(training.status)},
               {"events", Json::array()}};
  if (training.status.progress) json["status"]["progress"] = api::ProgressToJson(*training.status.progress);
  if (training.spec && !training.spec->job.program) json["epochs"] = training.spec->job.training.epochs;
  if (const Result<std::string> uri = OutputsUri(training); uri.ok()) json["outputs"] = *uri;
  for (const JobEvent& event : events) {
    json["events"].push_back({{"lastSeen", kube::FormatTime(event.last_seen)},
                              {"type", event.type},
                              {"reason", event.reason},
                              {"object", event.object},
                              {"message", event.message},
                              {"count", event.count}});
  }
  return json;
}

std::string JsonText(const Json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

}  // namespace espalier::ctl::view

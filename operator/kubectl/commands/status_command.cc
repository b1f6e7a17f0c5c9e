#include <algorithm>

#include "operator/kubectl/commands/commands.h"
#include "operator/kubectl/commands/job_reader.h"
#include "operator/kubectl/view/status_json.h"
#include "operator/kubectl/view/status_text.h"

namespace espalier::ctl::kubectl {
namespace {

constexpr size_t kNumEvents = 8;

Result<int> ShowOne(const StatusFlags& flags, const Surroundings& around) {
  ASSIGN_OR_RETURN(const api::DistTraining job, ReadJob(around, flags.name));
  std::vector<view::JobEvent> events;
  // A user who may read jobs may lack the permission to read events.
  if (Result<std::vector<view::JobEvent>> read = ReadJobEvents(around, job, kNumEvents); read.ok()) {
    events = *std::move(read);
  } else {
    around.note("no events: " + read.status().message());
  }
  RETURN_IF_ERROR(around.out.write(flags.as_json ? view::JsonText(view::StatusJson(job, events))
                                                 : view::StatusText(job, events, around.wall_now())));
  return 0;
}

}  // namespace

Result<int> ShowStatus(const StatusFlags& flags, const Surroundings& around) {
  if (!flags.name.empty()) return ShowOne(flags, around);
  ASSIGN_OR_RETURN(const std::vector<api::DistTraining> jobs,
                   ReadJobs(around, flags.all_namespaces ? "" : around.name_space));
  if (flags.as_json) {
    kube::Json items = kube::Json::array();
    for (const api::DistTraining& job : jobs) items.push_back(view::StatusJson(job, {}));
    RETURN_IF_ERROR(around.out.write(view::JsonText({{"items", std::move(items)}})));
    return 0;
  }
  if (jobs.empty()) {
    around.note(flags.all_namespaces ? "no DistTrainings" : "no DistTrainings in namespace " + around.name_space);
    return 0;
  }
  const view::Namespaces namespaces = flags.all_namespaces ? view::Namespaces::kShow : view::Namespaces::kHide;
  RETURN_IF_ERROR(around.out.write(view::JobTable(jobs, namespaces, around.wall_now())));
  return 0;
}

}  // namespace espalier::ctl::kubectl

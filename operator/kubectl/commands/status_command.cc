#include <algorithm>

#include "operator/kubectl/commands/commands.h"
#include "operator/kubectl/commands/job_reader.h"
#include "operator/kubectl/view/status_json.h"
#include "operator/kubectl/view/status_text.h"

namespace espalier::ctl::kubectl {
namespace {

constexpr size_t kNumEvents = 8;

Result<int> ShowOne(const StatusFlags& flags, const CommandContext& context) {
  ASSIGN_OR_RETURN(const api::DistTraining job, ReadJob(context, flags.name));
  std::vector<view::JobEvent> events;
  // A user who may read jobs may lack the permission to read events.
  if (Result<std::vector<view::JobEvent>> read = ReadJobEvents(context, job, kNumEvents); read.ok()) {
    events = *std::move(read);
  } else {
    context.note("events are not shown: " + read.status().message());
  }
  RETURN_IF_ERROR(context.out.write(flags.as_json ? view::JsonText(view::StatusJson(job, events))
                                                  : view::StatusText(job, events, context.wall_now())));
  return 0;
}

}  // namespace

Result<int> ShowStatus(const StatusFlags& flags, const CommandContext& context) {
  if (!flags.name.empty()) return ShowOne(flags, context);
  ASSIGN_OR_RETURN(const std::vector<api::DistTraining> jobs,
                   ReadJobs(context, flags.all_namespaces ? "" : context.name_space));
  if (flags.as_json) {
    kube::Json items = kube::Json::array();
    for (const api::DistTraining& job : jobs) items.push_back(view::StatusJson(job, {}));
    RETURN_IF_ERROR(context.out.write(view::JsonText({{"items", std::move(items)}})));
    return 0;
  }
  if (jobs.empty()) {
    context.note(flags.all_namespaces ? "no DistTrainings" : "no DistTrainings in namespace " + context.name_space);
    return 0;
  }
  const view::Namespaces namespaces = flags.all_namespaces ? view::Namespaces::kShow : view::Namespaces::kHide;
  RETURN_IF_ERROR(context.out.write(view::JobTable(jobs, namespaces, context.wall_now())));
  return 0;
}

}  // namespace espalier::ctl::kubectl

// Pods are found by the job's label. Events have no such label: they are selected by fields and listed page by page.
// Only the newest matching ones are kept, so a namespace with many events needs little memory.
#include "operator/kubectl/commands/job_reader.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "operator/resources/labels.h"

namespace espalier::ctl::kubectl {
namespace {

using kube::Json;

// Returns the newest `count` events of the namespace that `wanted` accepts, oldest first.
Result<std::vector<view::JobEvent>> ReadEvents(const CommandContext& context, const std::string& field_selector,
                                               const std::function<bool(const view::JobEvent&)>& wanted, size_t count) {
  std::vector<view::JobEvent> events;
  const auto take = [&](const std::vector<Json>& page) {
    for (const Json& object : page) {
      Result<view::JobEvent> event = view::ParseJobEvent(object);
      if (event.ok() && wanted(*event)) events.push_back(*std::move(event));
    }
    events = view::SelectNewest(std::move(events), count);
    return true;
  };
  const kube::ListOptions options{.name_space = context.name_space, .field_selector = field_selector};
  RETURN_IF_ERROR(context.api
                      .ListPages(
                          kube::kCoreEvents, options, take, [&] { events.clear(); }, context.stop)
                      .status());
  return events;
}

}  // namespace

Result<api::DistTraining> ReadJob(const CommandContext& context, const std::string& name) {
  const Result<Json> object = context.api.Get(kube::kDistTrainings, {context.name_space, name});
  if (object.ok()) return api::ParseDistTraining(*object);
  if (object.status().code() != StatusCode::kNotFound) return object.status();
  return NotFound("no DistTraining " + name + " in namespace " + context.name_space + ": " + object.status().message());
}

Result<std::vector<api::DistTraining>> ReadJobs(const CommandContext& context, const std::string& name_space) {
  ASSIGN_OR_RETURN(const client::ObjectList list, context.api.List(kube::kDistTrainings, {.name_space = name_space}));
  std::vector<api::DistTraining> jobs;
  for (const Json& object : list.items) {
    if (kube::NestsTooDeep(object)) continue;  // the operator cannot read it either
    Result<api::DistTraining> job = api::ParseDistTraining(object);
    if (job.ok()) jobs.push_back(*std::move(job));
  }
  std::sort(jobs.begin(), jobs.end(),
            [](const api::DistTraining& a, const api::DistTraining& b) { return a.meta.key < b.meta.key; });
  return jobs;
}

Result<std::vector<view::JobPod>> ReadPods(const CommandContext& context, const std::string& job) {
  const kube::ListOptions options{
      .name_space = context.name_space,
      .label_selector = std::string(resources::kManagedBySelector) + "," + resources::kJobLabel + "=" + job};
  ASSIGN_OR_RETURN(const client::ObjectList list, context.api.List(kube::kPods, options));
  std::vector<view::JobPod> members;
  for (const Json& object : list.items) {
    Result<kube::Pod> pod = kube::ParsePod(object);
    if (!pod.ok()) continue;
    if (auto member = view::ToJobPod(*std::move(pod))) members.push_back(*std::move(member));
  }
  const auto order = [](const view::JobPod& member) {
    return std::make_tuple(member.role, member.rank, member.attempt, member.pod.meta.key.name);
  };
  std::sort(members.begin(), members.end(),
            [&](const view::JobPod& a, const view::JobPod& b) { return order(a) < order(b); });
  return members;
}

Result<std::vector<view::JobEvent>> ReadJobEvents(const CommandContext& context, const api::DistTraining& training,
                                                  size_t count) {
  // Excludes events of an earlier job with the same name.
  const auto is_of_this_job = [&](const view::JobEvent& event) { return event.last_seen >= training.meta.created_at; };
  return ReadEvents(context,
                    "involvedObject.kind=" + std::string(kube::kDistTrainings.kind) +
                        ",involvedObject.name=" + training.meta.key.name,
                    is_of_this_job, count);
}

Result<std::vector<view::JobEvent>> ReadWarnings(const CommandContext& context, const api::DistTraining& training,
                                                 const std::vector<view::JobPod>& pods, size_t count) {
  std::set<std::string> objects = {std::string(kube::kDistTrainings.kind) + " " + training.meta.key.name};
  for (const api::ChildRef& child : training.status.child_refs) objects.insert(child.kind + " " + child.name);
  for (const view::JobPod& member : pods) objects.insert("Pod " + member.pod.meta.key.name);
  if (training.status.last_error) objects.insert("Pod " + training.status.last_error->pod);
  // Excludes events of an earlier job with the same name.
  const auto is_ours = [&](const view::JobEvent& event) {
    return event.last_seen >= training.meta.created_at && objects.contains(event.object);
  };
  return ReadEvents(context, "type=Warning", is_ours, count);
}

}  // namespace espalier::ctl::kubectl

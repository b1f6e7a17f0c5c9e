// Without -f, the logs of all matching containers are read up to now and merged by time (logs/merge.h). With -f, each
// is followed in its own thread, and new pods are found until the job has ended (logs/follow.h). Each line begins with
// a label, [role-rank] or longer (MakeSources).
#include <algorithm>
#include <map>

#include "operator/kubectl/commands/commands.h"
#include "operator/kubectl/commands/job_reader.h"
#include "operator/kubectl/logs/follow.h"
#include "operator/kubectl/logs/merge.h"
#include "operator/kubectl/text/printable.h"
#include "operator/plan/failure.h"
#include "operator/plan/program_pod.h"
#include "operator/resources/labels.h"

namespace espalier::ctl::kubectl {
namespace {

// Returns whether the container may have a log.
bool HasBegun(const kube::ContainerState& container) {
  return container.waiting_reason.empty() || container.last_ended;
}

// kBegun: only containers that may have a log.
enum class Containers { kAll, kBegun };

// Returns the names of the pod's program containers. If the kubelet has not reported any yet, kAll gives the first one,
// which is named after the role.
std::vector<std::string> ListContainers(const view::JobPod& member, Containers wanted) {
  std::vector<std::string> names;
  const std::vector<const kube::ContainerState*> containers = view::ProgramContainers(member);
  if (containers.empty() && wanted == Containers::kAll) names.push_back(api::ToString(member.role));
  for (const kube::ContainerState* container : containers) {
    if (wanted == Containers::kAll || HasBegun(*container)) names.push_back(container->name);
  }
  return names;
}

// Returns the number that tells pods of the same role and rank apart: of the attempt or, for a server, of the replica.
std::string DistinctNumber(const view::JobPod& member) {
  const auto replica = member.pod.meta.labels.find(resources::kReplicaLabel);
  return replica == member.pod.meta.labels.end() ? std::to_string(member.attempt) : replica->second;
}

// Returns the sources with their labels, "trainer-1". If several pods have the same role and rank, DistinctNumber
// follows ("trainer-1@2"). For all containers of a pod except the first, the container's name follows.
std::vector<logs::LogSource> MakeSources(const std::vector<view::JobPod>& members, Containers wanted) {
  std::map<std::string, int> num_with_label;
  for (const view::JobPod& member : members) {
    if (!ListContainers(member, wanted).empty()) ++num_with_label[view::MakeDisplayName(member)];
  }
  std::vector<logs::LogSource> sources;
  for (const view::JobPod& member : members) {
    std::string label = view::MakeDisplayName(member);
    if (num_with_label[label] > 1) label += "@" + DistinctNumber(member);
    for (const std::string& container : ListContainers(member, wanted)) {
      const bool is_first = container == api::ToString(member.role);
      sources.push_back({.pod = member.pod.meta.key,
                         .container = container,
                         .label = is_first ? label : label + "/" + container,
                         .uid = member.pod.meta.uid});
    }
  }
  return sources;
}

class LogsCommand {
 public:
  LogsCommand(const LogsFlags& flags, const CommandContext& context) : flags_(flags), context_(context) {
    if (flags.tail_lines >= 0) options_.tail_lines = flags.tail_lines;
    options_.previous = flags.previous;
    printer_.line = [this](const logs::LogSource& source, const logs::LogLine& line) { return Print(source, line); };
    printer_.problem = [this](const logs::LogSource& source, const Status& status) {
      context_.note("[" + source.label + "] " + status.message());
    };
  }

  Result<int> PrintAvailable() {
    RETURN_IF_ERROR(ReadJob(context_, flags_.name).status());
    ASSIGN_OR_RETURN(const std::vector<view::JobPod> members, ReadSelectedPods());
    if (members.empty()) return NotFound(flags_.name + " has no pods for this selection: " + DescribeSelection());
    const std::vector<logs::LogSource> sources = MakeSources(members, Containers::kAll);
    if (sources.size() > flags_.max_pods) {
      return ResourceExhausted(std::to_string(sources.size()) + " logs to read at once, expected at most " +
                               std::to_string(flags_.max_pods) +
                               ": choose with --role and --rank, or raise --max-pods");
    }
    RETURN_IF_ERROR(logs::PrintMerged(context_.transport, sources, options_, printer_, context_.stop));
    return 0;
  }

  Result<int> FollowAll() {
    RETURN_IF_ERROR(ReadJob(context_, flags_.name).status());
    const logs::PodFinder finder{.find = [this] { return FindSources(); },
                                 .check = [this](const logs::LogSource& source) { return CheckContainer(source); }};
    logs::FollowOptions options;
    options.log = options_;
    options.max_logs = flags_.max_pods;
    RETURN_IF_ERROR(logs::Follow(context_.transport, finder, options, printer_, context_.stop));
    return 0;
  }

 private:
  std::string DescribeSelection() const {
    return "role " + (flags_.role.empty() ? "any" : flags_.role) + ", rank " +
           (flags_.rank < 0 ? "any" : std::to_string(flags_.rank));
  }

  Result<std::vector<view::JobPod>> ReadSelectedPods() const {
    ASSIGN_OR_RETURN(std::vector<view::JobPod> members, ReadPods(context_, flags_.name));
    std::erase_if(members, [&](const view::JobPod& member) {
      const bool is_of_role = flags_.role.empty() || flags_.role == api::ToString(member.role);
      return !is_of_role || (flags_.rank >= 0 && flags_.rank != member.rank);
    });
    return members;
  }

  // Finds the logs to follow. No more pods will be created once the job has ended or is gone.
  Result<logs::PodFinder::Found> FindSources() const {
    const Result<api::DistTraining> job = ReadJob(context_, flags_.name);
    const bool is_gone = !job.ok() && job.status().code() == StatusCode::kNotFound;
    if (!job.ok() && !is_gone) return job.status();
    ASSIGN_OR_RETURN(const std::vector<view::JobPod> members, ReadSelectedPods());
    return logs::PodFinder::Found{.sources = MakeSources(members, Containers::kBegun),
                                  .no_more = is_gone || api::IsTerminal(job->status)};
  }

  Result<logs::ContainerLife> CheckContainer(const logs::LogSource& source) const {
    const Result<kube::Json> object = context_.api.Get(kube::kPods, source.pod);
    if (!object.ok() && object.status().code() == StatusCode::kNotFound) return logs::ContainerLife::kGone;
    if (!object.ok()) return object.status();
    ASSIGN_OR_RETURN(const kube::Pod pod, kube::ParsePod(*object));
    if (pod.meta.uid != source.uid) return logs::ContainerLife::kGone;
    // In a pod of a Job, a sidecar may still run after the program has ended for good. In other pods (servers,
    // samplers), a program that has ended is started again.
    const bool runs_once = pod.meta.controller && pod.meta.controller->kind == kube::kJobs.kind;
    const bool has_ended = plan::HasEnded(pod) || (runs_once && plan::ProgramHasEnded(pod));
    return has_ended ? logs::ContainerLife::kEnded : logs::ContainerLife::kActive;
  }

  // Makes the line Printable for a terminal; elsewhere the bytes are unchanged.
  Status Print(const logs::LogSource& source, const logs::LogLine& line) const {
    std::string text = "[" + source.label + "] ";
    if (flags_.timestamps && line.time) text += kube::FormatMicroTime(*line.time) + " ";
    text += context_.out.is_terminal ? text::Printable(line.text, text::Spacing::kKeepLinesTabs) : line.text;
    return context_.out.write(text + "\n");
  }

  const LogsFlags& flags_;  // both must outlive this
  const CommandContext& context_;
  logs::LogOptions options_;
  logs::LogPrinter printer_;
};

}  // namespace

Result<int> PrintLogs(const LogsFlags& flags, const CommandContext& context) {
  if (!flags.role.empty()) RETURN_IF_ERROR(view::ParseRole(flags.role).status().While("--role"));
  LogsCommand command(flags, context);
  return flags.follow ? command.FollowAll() : command.PrintAvailable();
}

}  // namespace espalier::ctl::kubectl

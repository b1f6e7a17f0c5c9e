// The text consists of fields (Field) and tables (text::Table). Both make their values Printable, so no text from the
// cluster reaches the terminal unescaped.
#include "operator/kubectl/view/status_text.h"

#include <array>
#include <cstdio>

#include "operator/kubectl/text/printable.h"
#include "operator/kubectl/text/table.h"
#include "operator/kubectl/view/age.h"
#include "operator/kubectl/view/progress_text.h"
#include "operator/resources/builders.h"
#include "services/terminal/progress.h"

namespace espalier::ctl::view {
namespace {

std::string EpochText(const api::DistTraining& training) {
  if (!training.status.progress) return "";
  std::string text = std::to_string(training.status.progress->epoch);
  if (training.spec && !training.spec->job.program) text += "/" + std::to_string(training.spec->job.training.epochs);
  return text;
}

std::string RemainingText(const api::DistTraining& training) {
  const auto& progress = training.status.progress;
  if (!progress || progress->eta_seconds.value_or(0) == 0 || api::IsTerminal(training.status)) return "";
  return terminal::DurationText(static_cast<double>(*progress->eta_seconds));
}

std::string PhaseText(const api::DistTraining& training, kube::WallTime now) {
  const api::Status& status = training.status;
  std::string text = api::ToString(status.phase);
  if (status.started_at) text += ", started " + AgeText(*status.started_at, now) + " ago";
  if (status.finished_at) text += ", finished " + AgeText(*status.finished_at, now) + " ago";
  return text;
}

std::string PartitionText(const api::PartitionStatus& partition) {
  return partition.uri + "  (" + PercentText(100 * partition.cut) + " of the edges cut, " +
         terminal::CountText(static_cast<double>(partition.bytes)) + "B)";
}

std::string RoleTable(const api::Status& status) {
  text::Table table({"ROLE", "READY", "WANTED", "FAILED"});
  for (const api::Role role : api::kRoles) {
    const auto found = status.replicas.find(api::ToString(role));
    if (found == status.replicas.end()) continue;
    table.Add({found->first, std::to_string(found->second.ready), std::to_string(found->second.wanted),
               std::to_string(found->second.failed)});
  }
  return table.empty() ? "" : "Roles:\n" + table.Text(2);
}

std::string ConditionTable(const api::Status& status, kube::WallTime now) {
  text::Table table({"CONDITION", "STATUS", "REASON", "SINCE", "MESSAGE"});
  for (const api::Condition& condition : status.conditions) {
    table.Add({condition.type, api::ToString(condition.status), condition.reason,
               AgeText(condition.last_transition, now), condition.message});
  }
  return table.empty() ? "" : "Conditions:\n" + table.Text(2);
}

}  // namespace

std::string Field(const std::string& name, const std::string& value) {
  std::string printable = text::Printable(value, text::Spacing::kKeepLinesTabs);
  for (size_t at = 0; (at = printable.find('\n', at)) != std::string::npos; at += kValueColumn + 1) {
    printable.insert(at + 1, kValueColumn, ' ');
  }
  const size_t width = text::DisplayWidth(name) + 1;
  return name + ":" + std::string(kValueColumn > width ? kValueColumn - width : 1, ' ') + printable + "\n";
}

Result<std::string> OutputsUri(const api::DistTraining& training) {
  if (training.spec) return resources::RunPrefix(training);
  return NotFound("the spec of DistTraining " + kube::ToString(training.meta.key) +
                  " is not valid for this version of kubectl-espalier: " + training.violations);
}

std::string AttemptsText(const api::DistTraining& training) {
  const api::Status& status = training.status;
  std::string text = std::to_string(status.attempts_total) + " started, " + std::to_string(status.attempts_counted) +
                     " failures counted";
  if (training.spec) text += " (" + std::to_string(training.spec->run_policy.backoff_limit) + " allowed)";
  if (!status.restart_reason.empty()) text += "; the last restart: " + status.restart_reason;
  return text;
}

std::string LastErrorText(const api::LastError& error) {
  std::string text = error.role;
  if (!error.pod.empty()) text += (text.empty() ? "" : " ") + error.pod;
  if (!text.empty()) text += ": ";
  text += error.reason;
  if (!error.message.empty()) text += ": " + error.message;
  if (error.exit_code) text += " (exit code " + std::to_string(*error.exit_code) + ")";
  return text;
}

std::string EventTable(const std::vector<JobEvent>& events, size_t indent, kube::WallTime now) {
  text::Table table({"LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"});
  for (const JobEvent& event : events) {
    const std::string times = event.count > 1 ? " (x" + std::to_string(event.count) + ")" : "";
    table.Add({AgeText(event.last_seen, now) + times, event.type, event.reason, event.object, event.message});
  }
  return table.Text(indent);
}

std::string JobTable(std::span<const api::DistTraining> jobs, Namespaces namespaces, kube::WallTime now) {
  std::vector<std::string> header = {"NAME", "PHASE", "EPOCH", "PERCENT", "LEFT", "ROLES", "AGE"};
  const bool shows_namespaces = namespaces == Namespaces::kShow;
  if (shows_namespaces) header.insert(header.begin(), "NAMESPACE");
  text::Table table(std::move(header));
  for (const api::DistTraining& job : jobs) {
    const auto& progress = job.status.progress;
    std::vector<std::string> row = {job.meta.key.name,
                                    api::ToString(job.status.phase),
                                    EpochText(job),
                                    progress ? PercentText(progress->percent) : "",
                                    RemainingText(job),
                                    RolesText(job.status),
                                    AgeText(job.meta.created_at, now)};
    if (shows_namespaces) row.insert(row.begin(), job.meta.key.name_space);
    table.Add(std::move(row));
  }
  return table.Text();
}

std::string StatusText(const api::DistTraining& training, const std::vector<JobEvent>& events, kube::WallTime now) {
  const api::Status& status = training.status;
  std::string text = Field("Name", training.meta.key.name) + Field("Namespace", training.meta.key.name_space) +
                     Field("Phase", PhaseText(training, now));
  if (!training.spec) text += Field("Spec", "not valid for this version of kubectl-espalier:\n" + training.violations);
  const std::string progress = ProgressText(training, WithBar::kYes, std::nullopt, now);
  if (!progress.empty()) text += Field("Progress", progress);
  if (status.progress && !status.progress->metrics.empty()) text += Field("Metrics", MetricsText(*status.progress));
  text += Field("Attempts", AttemptsText(training));
  if (status.partition) text += Field("Partitions", PartitionText(*status.partition));
  if (status.script) text += Field("Script", status.script->source + "  (SHA-256 " + status.script->sha256 + ")");
  if (const Result<std::string> uri = OutputsUri(training); uri.ok()) {
    text +=
        Field("Outputs", *uri + (api::IsTrue(status, api::kSucceeded) ? "" : "  (checkpoints; results after success)"));
  }
  if (status.last_error) text += Field("Last error", LastErrorText(*status.last_error));
  text += RoleTable(status) + ConditionTable(status, now);
  if (!events.empty()) text += "Events:\n" + EventTable(events, 2, now);
  return text;
}

}  // namespace espalier::ctl::view

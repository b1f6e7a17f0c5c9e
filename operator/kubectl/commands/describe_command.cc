// Collects the objects that explain the job's state: the job, its pods, the failed pod's last log lines, and warnings.
// Pods that the user has no permission to read and warnings that cannot be read are left out with a note. A log that
// cannot be read is replaced by the reason.
#include "operator/kube/api_error.h"
#include "operator/kubectl/commands/commands.h"
#include "operator/kubectl/commands/job_reader.h"
#include "operator/kubectl/logs/log_line.h"
#include "operator/kubectl/logs/log_request.h"
#include "operator/kubectl/text/fit.h"
#include "operator/kubectl/view/describe_text.h"

namespace espalier::ctl::kubectl {
namespace {

constexpr int64_t kTailLines = 15;
constexpr int64_t kTailBytes = 64 << 10;
constexpr size_t kNumWarnings = 8;
constexpr std::chrono::seconds kLogTimeout{30};

view::LogTail ReadTail(const CommandContext& context, const view::FailedPod& failed, bool previous) {
  logs::LogOptions options;
  options.container = failed.container;
  options.previous = previous;
  options.tail_lines = kTailLines;
  options.limit_bytes = kTailBytes;
  view::LogTail tail{.title =
                         "Last lines of container " + failed.container + (previous ? " before its last restart" : "")};
  const Result<client::HttpResponse> response = context.transport.Send(
      logs::LogRequest(failed.member.pod.meta.key, options), Deadline::After(kLogTimeout), context.stop);
  if (!response.ok()) {
    tail.problem = response.status().message();
  } else if (response->code != 200) {
    tail.problem = kube::ToStatus(kube::ParseApiError(response->code, response->body)).message();
  } else {
    tail.lines = text::SplitLines(response->body);
    for (std::string& line : tail.lines) line = logs::ParseLogLine(line).text;
  }
  return tail;
}

}  // namespace

Result<int> Describe(const std::string& name, const CommandContext& context) {
  ASSIGN_OR_RETURN(const api::DistTraining job, ReadJob(context, name));
  view::Explanation explanation{.training = job, .failed = std::nullopt};
  std::vector<view::JobPod> pods;
  // An RBAC role may allow reading DistTrainings but not pods. The conditions still explain most failures.
  if (Result<std::vector<view::JobPod>> read = ReadPods(context, name); read.ok()) {
    pods = *std::move(read);
  } else if (read.status().code() == StatusCode::kPermissionDenied) {
    explanation.may_read_pods = false;
    context.note("pods and logs are not shown: " + read.status().message());
  } else {
    return read.status();
  }
  if (!api::IsTrue(job.status, api::kSucceeded)) explanation.failed = view::FindFailedPod(job, pods);
  if (explanation.failed && (explanation.failed->ended || explanation.failed->has_restarted)) {
    if (explanation.failed->has_restarted) {
      explanation.tails.push_back(ReadTail(context, *explanation.failed, /*previous=*/true));
    }
    explanation.tails.push_back(ReadTail(context, *explanation.failed, /*previous=*/false));
  }
  if (Result<std::vector<view::JobEvent>> read = ReadWarnings(context, job, pods, kNumWarnings); read.ok()) {
    explanation.warnings = *std::move(read);
  } else {
    context.note("events are not shown: " + read.status().message());
  }
  std::optional<size_t> columns;  // a file or pipe gets whole lines
  if (context.out.is_terminal) columns = context.out.columns();
  RETURN_IF_ERROR(context.out.write(view::DescribeText(explanation, context.wall_now(), columns)));
  return 0;
}

}  // namespace espalier::ctl::kubectl

// Polls the job every two seconds and shows it until it ends. Errors that may be temporary are retried for up to five
// minutes. The uid is compared on each poll, so a new job of the same name is not mistaken for the old one.
#include <optional>

#include "operator/kubectl/commands/commands.h"
#include "operator/kubectl/commands/job_reader.h"
#include "operator/kubectl/text/printable.h"
#include "operator/kubectl/view/painter.h"
#include "operator/kubectl/view/progress_text.h"
#include "operator/kubectl/view/status_text.h"

namespace espalier::ctl::kubectl {
namespace {

constexpr std::chrono::seconds kPollInterval{2};
constexpr std::chrono::minutes kMaxOutage{5};

std::string ConditionText(const api::Status& status) {
  const api::Condition* condition = view::LeadingCondition(status);
  return condition == nullptr ? "" : condition->reason + ": " + condition->message;
}

void AddUnlessEmpty(const std::string& line, std::vector<std::string>* lines) {
  if (!line.empty()) lines->push_back(text::Printable(line));
}

// Shows a job repeatedly: repainted in place on a terminal, elsewhere as a line for each change.
class LiveView {
 public:
  explicit LiveView(const CommandContext& context) : context_(context), painter_(context.out) {}

  Status Show(const api::DistTraining& training) {
    rate_.Observe(training);
    if (context_.out.can_repaint) return painter_.Paint(FormatBlock(training));
    const std::string contents = FormatLine(training, ComparisonTime(training));
    if (contents == last_) return {};
    last_ = contents;
    const kube::WallTime now = context_.wall_now();
    return context_.out.write(kube::FormatTime(now) + "  " + text::Printable(FormatLine(training, now)) + "\n");
  }

 private:
  // Returns the time that lines are formatted with when they are compared: that of the last progress report, not the
  // current time. So a line counts as new only if the status has changed, not because the ages in it have grown.
  static kube::WallTime ComparisonTime(const api::DistTraining& training) {
    return training.status.progress ? training.status.progress->last_updated : kube::WallTime();
  }

  std::string FormatLine(const api::DistTraining& training, kube::WallTime now) const {
    std::string line = api::ToString(training.status.phase);
    const auto add = [&](const std::string& text) {
      if (!text.empty()) line += "  " + text;
    };
    add(view::ProgressText(training, view::WithBar::kNo, rate_.epochs_per_minute(), now));
    if (training.status.progress) add(view::MetricsText(*training.status.progress));
    add(view::RolesText(training.status));
    add(ConditionText(training.status));
    return line;
  }

  std::vector<std::string> FormatBlock(const api::DistTraining& training) const {
    const api::Status& status = training.status;
    std::vector<std::string> lines;
    AddUnlessEmpty(kube::ToString(training.meta.key) + "  " + api::ToString(status.phase), &lines);
    AddUnlessEmpty(view::ProgressText(training, view::WithBar::kYes, rate_.epochs_per_minute(), context_.wall_now()),
                   &lines);
    if (status.progress) AddUnlessEmpty(view::MetricsText(*status.progress), &lines);
    AddUnlessEmpty(view::RolesText(status), &lines);
    AddUnlessEmpty(ConditionText(status), &lines);
    if (status.last_error) AddUnlessEmpty("last error: " + view::LastErrorText(*status.last_error), &lines);
    return lines;
  }

  const CommandContext& context_;  // must outlive this
  view::Painter painter_;
  view::EpochRate rate_;
  std::string last_;
};

// Tells the user where to find the details of a failure, or the outputs. Returns the exit code.
int ReportEnd(const api::DistTraining& training, const CommandContext& context) {
  if (api::IsTrue(training.status, api::kFailed)) {
    context.note(kube::ToString(training.meta.key) + " has failed; for details run: kubectl espalier describe " +
                 training.meta.key.name + " -n " + training.meta.key.name_space);
    return kJobHasFailed;
  }
  if (const Result<std::string> uri = view::OutputsUri(training); uri.ok()) context.note("outputs: " + *uri);
  return 0;
}

}  // namespace

Result<int> WatchStatus(const std::string& name, const CommandContext& context) {
  LiveView view(context);
  std::string uid;
  std::optional<kube::WallTime> failing_since;
  while (true) {
    const Result<api::DistTraining> job = ReadJob(context, name);
    if (job.ok()) {
      if (!uid.empty() && uid != job->meta.uid) return NotFound(name + " was deleted; another job has the same name");
      uid = job->meta.uid;
      failing_since.reset();
      RETURN_IF_ERROR(view.Show(*job));
      if (api::IsTerminal(job->status)) return ReportEnd(*job, context);
    } else {
      if (context.stop.stop_requested()) return Cancelled("asked to stop");
      if (!IsRetryable(job.status().code())) return job.status();
      if (!failing_since) context.note(job.status().message() + "; retrying");
      failing_since = failing_since.value_or(context.wall_now());
      if (context.wall_now() - *failing_since >= kMaxOutage) return job.status();
    }
    if (!context.pause(kPollInterval)) return Cancelled("asked to stop");
  }
}

}  // namespace espalier::ctl::kubectl

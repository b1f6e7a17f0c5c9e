// On a terminal the text must fit one screen. Each field has its own limit of rows. The log tails and warnings share
// the rows that the fields leave, and keep their newest lines. All text from the cluster is made Printable before it is
// measured.
#include "operator/kubectl/view/describe_text.h"

#include <algorithm>

#include "operator/kubectl/text/fit.h"
#include "operator/kubectl/text/printable.h"
#include "operator/kubectl/view/advice.h"
#include "operator/kubectl/view/age.h"
#include "operator/kubectl/view/progress_text.h"
#include "operator/kubectl/view/status_text.h"
#include "operator/kubectl/view/what_to_do.h"
#include "operator/plan/termination_message.h"

namespace espalier::ctl::view {
namespace {

// Limits on a terminal: the rows of the whole text, and those of each field.
constexpr size_t kScreenRows = 50;
constexpr size_t kFieldRows = 2, kMessageRows = 3, kSpecRows = 6, kPodRows = 8, kAdviceRows = 7;
constexpr size_t kMinColumns = 40;

// A title and lines below it, the newest last.
struct Listing {
  std::string title;
  std::string prefix;              // of each line
  std::vector<std::string> lines;  // Printable, as the title is
};

// The limits of the text: those of a terminal with `columns` columns, or none if `columns` is nullopt.
class Page {
 public:
  explicit Page(std::optional<size_t> columns) : columns_(columns) {
    if (columns_) columns_ = std::max(*columns_, kMinColumns);
  }

  std::string FormatField(const std::string& name, const std::string& value, size_t rows) const {
    if (!columns_) return Field(name, value);
    const std::string printable = text::Printable(value, text::Spacing::kKeepLinesTabs);
    return Field(name, text::FitText(printable, *columns_ - kValueColumn, rows));
  }

  // Shortens the listings to `rows` rows in all, counting a title and an empty row above it for each.
  void Shorten(std::vector<Listing>* listings, size_t rows) const {
    if (!columns_) return;
    std::vector<size_t> wanted;
    for (Listing& listing : *listings) {
      listing.title = text::CutToWidth(listing.title, *columns_ - 1);
      wanted.push_back(SelectLast(listing, listing.lines.size() * text::kMaxRowsPerLine).size());
    }
    const std::vector<size_t> given = text::ShareRows(wanted, rows - std::min(rows, 2 * listings->size()));
    for (size_t i = 0; i < given.size(); ++i) (*listings)[i].lines = SelectLast((*listings)[i], given[i]);
  }

 private:
  std::vector<std::string> SelectLast(const Listing& listing, size_t rows) const {
    return text::LastRows(listing.lines, *columns_ - listing.prefix.size(), rows);
  }

  std::optional<size_t> columns_;
};

size_t CountLines(const std::string& text) { return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')); }

std::string PhaseText(const api::Status& status, kube::WallTime now) {
  std::string text = api::ToString(status.phase);
  if (status.finished_at) text += ", since " + AgeText(*status.finished_at, now);
  return text;
}

const char* ToString(kube::PodPhase phase) {
  switch (phase) {
    case kube::PodPhase::kPending: return "Pending";
    case kube::PodPhase::kRunning: return "Running";
    case kube::PodPhase::kSucceeded: return "Succeeded";
    case kube::PodPhase::kFailed: return "Failed";
    case kube::PodPhase::kUnknown: return "Unknown";
  }
  return "Unknown";
}

std::string EndText(const FailedPod& failed) {
  const kube::ContainerEnd& end = *failed.ended;
  std::string text = "container " + failed.container + " ended with exit code " + std::to_string(end.exit_code) + " (" +
                     ExitCodeText(end.exit_code) + ")";
  if (!end.reason.empty() && end.reason != "Error") text += ", " + end.reason;
  const std::optional<plan::Termination> termination = plan::ParseTermination(end.message);
  const std::string message = termination ? termination->message : end.message;
  if (!message.empty()) text += "\nmessage: " + message;
  return text;
}

std::string PodText(const FailedPod& failed) {
  const kube::Pod& pod = failed.member.pod;
  std::string text = pod.meta.key.name + " (" + MakeDisplayName(failed.member) + "), " + ToString(pod.phase);
  if (!pod.node.empty()) text += ", on node " + pod.node;
  for (const kube::ContainerState& container : pod.containers) {
    if (container.name == failed.container && container.restarts > 0) {
      text +=
          container.restarts == 1 ? ", restarted once" : ", restarted " + std::to_string(container.restarts) + " times";
    }
  }
  if (!pod.reason.empty()) text += "\n" + pod.reason;
  if (!pod.message.empty()) text += (pod.reason.empty() ? "\n" : ": ") + pod.message;
  if (!pod.unscheduled_message.empty()) text += "\nnot scheduled: " + pod.unscheduled_message;
  if (!failed.waiting.empty()) text += "\ncontainer " + failed.container + " waits: " + failed.waiting;
  if (failed.ended) text += "\n" + EndText(failed);
  return text;
}

Listing TailListing(const LogTail& tail) {
  Listing listing{.title = text::Printable(tail.title), .prefix = "  ", .lines = {}};
  if (!tail.problem.empty()) {
    listing.lines.push_back("(" + text::Printable(tail.problem) + ")");
  } else if (tail.lines.empty()) {
    listing.lines.emplace_back("(empty)");
  } else {
    listing.prefix = "  | ";
    for (const std::string& line : tail.lines) {
      listing.lines.push_back(text::Printable(line, text::Spacing::kKeepLinesTabs));
    }
  }
  return listing;
}

Listing WarningListing(const std::vector<JobEvent>& warnings, kube::WallTime now) {
  Listing listing{.title = "Warnings", .prefix = "  ", .lines = {}};
  for (const JobEvent& event : warnings) {
    const std::string times = event.count > 1 ? " (x" + std::to_string(event.count) + ")" : "";
    listing.lines.push_back(text::Printable(AgeText(event.last_seen, now) + times + "  " + event.reason + "  " +
                                            event.object + ": " + event.message));
  }
  return listing;
}

std::vector<Listing> MakeListings(const Explanation& explanation, kube::WallTime now) {
  std::vector<Listing> listings;
  for (const LogTail& tail : explanation.tails) listings.push_back(TailListing(tail));
  if (!explanation.warnings.empty()) listings.push_back(WarningListing(explanation.warnings, now));
  return listings;
}

std::string ToText(const Listing& listing) {
  std::string text = "\n" + listing.title + ":\n";
  for (const std::string& line : listing.lines) text += listing.prefix + line + "\n";
  return text;
}

std::string DeletedPodText(const api::LastError& error) {
  return error.pod +
         " was deleted with its log (spec.runPolicy.cleanPodPolicy: None keeps the pods of a job that "
         "has ended)";
}

std::string HeadText(const Explanation& explanation, const Page& page, kube::WallTime now) {
  const api::DistTraining& training = explanation.training;
  const api::Status& status = training.status;
  std::string text = page.FormatField("Job", kube::ToString(training.meta.key), kFieldRows) +
                     page.FormatField("Phase", PhaseText(status, now), kFieldRows);
  if (const api::Condition* leading = LeadingCondition(status)) {
    text += page.FormatField("Condition",
                             leading->type + "=" + api::ToString(leading->status) + ", " + leading->reason +
                                 ", since " + AgeText(leading->last_transition, now) + "\n" + leading->message,
                             kMessageRows);
  }
  if (!training.spec) {
    text +=
        page.FormatField("Spec", "not valid for this version of kubectl-espalier:\n" + training.violations, kSpecRows);
  }
  const std::string progress = ProgressText(training, WithBar::kNo, std::nullopt, now);
  if (!progress.empty()) text += page.FormatField("Progress", progress, kFieldRows);
  text += page.FormatField("Attempts", AttemptsText(training), kFieldRows);
  if (status.last_error) text += page.FormatField("Last error", LastErrorText(*status.last_error), kMessageRows);
  if (explanation.failed) {
    text += page.FormatField("Pod", PodText(*explanation.failed), kPodRows);
  } else if (status.last_error && !status.last_error->pod.empty()) {
    const bool is_deleted = explanation.may_read_pods;  // a pod that exists would be explanation.failed
    text += page.FormatField("Pod", is_deleted ? DeletedPodText(*status.last_error) : status.last_error->pod, kPodRows);
  }
  return text;
}

}  // namespace

std::string DescribeText(const Explanation& explanation, kube::WallTime now, std::optional<size_t> columns) {
  const Page page(columns);
  std::string text = HeadText(explanation, page, now);
  const std::string foot =
      "\n" + page.FormatField("What to do", WhatToDo(explanation.training, explanation.failed, now), kAdviceRows);
  std::vector<Listing> listings = MakeListings(explanation, now);
  page.Shorten(&listings, kScreenRows - std::min(kScreenRows, CountLines(text) + CountLines(foot)));
  for (const Listing& listing : listings) text += ToText(listing);
  return text + foot;
}

}  // namespace espalier::ctl::view

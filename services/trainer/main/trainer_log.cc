#include "services/trainer/main/trainer_log.h"

#include <initializer_list>
#include <utility>
#include <vector>

#include "services/telemetry/log.h"
#include "services/telemetry/warnings_prefix.h"
#include "services/trainer/outputs.h"

namespace espalier::trainer {

using telemetry::Level;
using telemetry::Log;

void LogEpoch(const EpochReport& report, job::Metric metric) {
  std::vector<telemetry::Field> fields = {{"epoch", report.epoch}, {"loss", report.loss}};
  if (report.validation.has_value()) fields.push_back({ResultKey("validation", metric), *report.validation});
  const SecondsSplit& seconds = report.seconds;
  for (telemetry::Field field : std::initializer_list<telemetry::Field>{{"seconds", report.total_seconds},
                                                                        {"sample", seconds.sample},
                                                                        {"fetch", seconds.fetch},
                                                                        {"wait", seconds.wait},
                                                                        {"compute", seconds.compute},
                                                                        {"communicate", seconds.communicate},
                                                                        {"evaluate", seconds.evaluate}}) {
    fields.push_back(std::move(field));
  }
  Log(Level::kInfo, "epoch", fields);
}

void LogOutcome(const TrainOutcome& outcome, job::Metric metric) {
  std::vector<telemetry::Field> fields = {{"epochs", outcome.loop.epochs.size()},
                                          {"best_epoch", outcome.loop.best_epoch},
                                          {"seconds", outcome.total_seconds},
                                          {"parameters_digest", outcome.parameters_digest}};
  if (outcome.test.has_value()) fields.push_back({ResultKey("test", metric), *outcome.test});
  Log(Level::kInfo, outcome.stopped() ? "stopped on request" : "trained", fields);
}

telemetry::TerminationMessage MakeTerminationMessage(const TrainOutcome& outcome, const std::string& partition_key,
                                                     job::Metric metric) {
  telemetry::TerminationMessage message;
  message.code = outcome.stopped() ? ExitCode::kAskedToStop : ExitCode::kDone;
  message.message = outcome.stopped() ? "stopped on request" : "trained";
  if (!outcome.stopped() && !outcome.warnings.empty()) {
    message.message = telemetry::kWarningsPrefix + outcome.warnings.front();
    for (size_t i = 1; i < outcome.warnings.size(); ++i) message.message += "; " + outcome.warnings[i];
  }
  message.partition = telemetry::TerminationMessage::Partition{.hash = partition_key};
  message.metrics = {{"epochs", outcome.loop.epochs.size()},
                     {"bestEpoch", outcome.loop.best_epoch},
                     {"parametersDigest", outcome.parameters_digest}};
  if (!outcome.loop.epochs.empty()) message.metrics.push_back({"loss", outcome.loop.epochs.back().loss});
  if (outcome.validation.has_value()) {
    message.metrics.push_back({ResultKey("validation", metric), *outcome.validation});
  }
  if (outcome.test.has_value()) message.metrics.push_back({ResultKey("test", metric), *outcome.test});
  return message;
}

}  // namespace espalier::trainer

// The schema is written by hand, because services/job/fields/field_table.h does not contain the fields of the status.
// Lengths and numbers of items are limited; the limits that the operator applies when it writes a status are constants
// of operator/api/status.h.
#include "operator/schema/status_schema.h"

#include "operator/api/status.h"

namespace espalier::ctl::schema {
namespace {

OrderedJson Text(const std::string& description, size_t max_length) {
  return {{"description", description}, {"type", "string"}, {"maxLength", max_length}};
}
OrderedJson Count(const std::string& description) {
  return {{"description", description}, {"type", "integer"}, {"format", "int64"}, {"minimum", 0}};
}
OrderedJson Number(const std::string& description) { return {{"description", description}, {"type", "number"}}; }
OrderedJson Time(const std::string& description) {
  return {{"description", description}, {"type", "string"}, {"format", "date-time"}};
}
OrderedJson Object(const std::string& description, OrderedJson properties) {
  return {{"description", description}, {"type", "object"}, {"properties", std::move(properties)}};
}
OrderedJson MakeMap(const std::string& description, size_t max_entries, OrderedJson values) {
  return {{"description", description},
          {"type", "object"},
          {"maxProperties", max_entries},
          {"additionalProperties", std::move(values)}};
}

// The schema of a list of metav1.Condition.
OrderedJson Conditions() {
  OrderedJson condition = Object(
      "One aspect of the job.",
      {{"type", Text("Accepted, QuotaReserved, Partitioned, ServersReady, TrainersReady, Suspended, Restarting, "
                     "Succeeded or Failed",
                     316)},
       {"status",
        {{"description", "whether the condition holds"}, {"type", "string"}, {"enum", {"True", "False", "Unknown"}}}},
       {"reason",
        {{"description", "reason for the status, in one word"},
         {"type", "string"},
         {"minLength", 1},
         {"maxLength", 1024},
         {"pattern", "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"}}},
       {"message", Text("human-readable reason", api::kMaxMessageBytes)},
       {"observedGeneration", Count("generation of the document that the condition describes")},
       {"lastTransitionTime", Time("time of the last change of the status")}});
  condition["required"] = {"type", "status", "reason", "message", "lastTransitionTime"};
  return {{"description", "conditions of the job"},
          {"type", "array"},
          {"maxItems", 16},
          {"x-kubernetes-list-type", "map"},
          {"x-kubernetes-list-map-keys", {"type"}},
          {"items", std::move(condition)}};
}

OrderedJson Phases() {
  OrderedJson names = OrderedJson::array();
  for (int phase = 0; phase <= static_cast<int>(api::Phase::kFailed); ++phase) {
    names.push_back(api::ToString(static_cast<api::Phase>(phase)));
  }
  return {{"description", "summary of the conditions, for users"}, {"type", "string"}, {"enum", std::move(names)}};
}

OrderedJson Progress() {
  return Object("progress of training, as periodically reported by the first trainer",
                {{"epoch", Count("epochs done")},
                 {"percent", Number("completed share of all epochs, in percent")},
                 {"etaSeconds", Count("estimated time until the last epoch ends, at the current rate")},
                 {"phase", Text("phase of the first trainer: Training, Evaluating, Embedding or Writing; absent before "
                                "the first step and after the end",
                                api::kMaxProgressPhaseBytes)},
                 {"phasePercent", Number("completed share of the phase, in percent; absent if it is not known")},
                 {"metrics", MakeMap("newest values of the metrics", api::kMaxMetrics, {{"type", "number"}})},
                 {"lastUpdated", Time("time of the trainer's report")}});
}

OrderedJson LastError() {
  return Object("the newest failure that was handled",
                {{"role", Text("role that failed: partitioner, server, sampler or trainer; absent if the job as a "
                               "whole failed",
                               63)},
                 {"reason", Text("reason for the failure, in one word", 1024)},
                 {"message", Text("human-readable description of the failure", api::kMaxMessageBytes)},
                 {"exitCode", {{"description", "exit code of the process"}, {"type", "integer"}, {"format", "int32"}}},
                 {"pod", Text("pod that failed", 253)}});
}

OrderedJson Children() {
  return {{"description", "current child objects of the job"},
          {"type", "array"},
          {"maxItems", api::kMaxChildRefs},
          {"x-kubernetes-list-type", "atomic"},
          {"items", Object("An object that belongs to the job.",
                           {{"kind", Text("kind of the object", 63)}, {"name", Text("name of the object", 253)}})}};
}

}  // namespace

OrderedJson StatusSchema() {
  return Object(
      "status of the job; written only by the operator",
      {{"observedGeneration", Count("generation of the document that this status describes")},
       {"phase", Phases()},
       {"conditions", Conditions()},
       {"incarnation", Count("counts the starts of the trainers; 0 before the first one")},
       {"attempts", Object("numbers of attempts and failures",
                           {{"partition", Count("partition Jobs created")},
                            {"total", Count("trainer Jobs created")},
                            {"counted", Count("failures that count towards runPolicy.backoffLimit")}})},
       {"restartReason", Text("why the newest attempt was started; absent: it is the first", api::kMaxMessageBytes)},
       {"partition", Object("the graph's partitions",
                            {{"hash", Text("partition key: hash of the source, the options and the versions", 256)},
                             {"uri", Text("URI of the folder with the manifest", 2048)},
                             {"cut", Number("edge cut as a share of all edges")},
                             {"bytes", Count("size of all partitions")}})},
       {"script",
        Object("the script of the user's program, set once: from the document, or by the first pod that reads the "
               "script",
               {{"source", Text("URI or ConfigMap that contains the script", 2048)},
                {"sha256", Text("SHA-256 of the file or archive; a script with another digest is not run", 64)}})},
       {"images",
        MakeMap("images by role, fixed when the job was accepted", 8, {{"type", "string"}, {"maxLength", 1024}})},
       {"replicaStatuses", MakeMap("pods, by role", 8,
                                   Object("Pods of a role.", {{"wanted", Count("pods that the document asks for")},
                                                              {"ready", Count("pods that are ready")},
                                                              {"failed", Count("pods that have failed for good")}}))},
       {"trainerReplicas", Count("number of trainers of the current incarnation")},
       {"selector", Text("labels of the trainers' pods", 1024)},
       {"startTime", Time("time at which the job started or was resumed")},
       {"completionTime", Time("time at which the job succeeded or failed")},
       {"lastError", LastError()},
       {"childRefs", Children()},
       {"progress", Progress()}});
}

}  // namespace espalier::ctl::schema

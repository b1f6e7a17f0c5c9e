// Rules on changes of a document. Once a job is accepted or has started, only these may change: replicas, minReplicas
// and maxReplicas of the trainers, the labels and annotations of the resource, scheduling, and runPolicy without
// managedBy. If the old or the new document suspends the job, most fields of the roles may change too: in the request
// that resumes the job, queueing controllers set the fields that decide where the pods run. In a job that is not
// accepted and has not started, everything but managedBy may change.
#include "operator/schema/rules.h"

namespace espalier::ctl::schema {
namespace {

// Whether the job is accepted or has started. startTime is checked too, because an invalid change removes Accepted=True
// but not startTime. CEL's optionals are not used: an API server cannot estimate their size and rejects the rule as too
// expensive.
constexpr char kAccepted[] =
    "(has(oldSelf.status) && (has(oldSelf.status.startTime) || has(oldSelf.status.conditions) && "
    "oldSelf.status.conditions.exists(one, one.type == 'Accepted' && one.status == 'True')))";
constexpr char kSuspended[] = "self.spec.runPolicy.suspend || oldSelf.spec.runPolicy.suspend";

std::string Equal(const std::string& field) { return "self.spec." + field + " == oldSelf.spec." + field; }

// Holds if the field is equal or absent in both documents. The object that contains the field is always present.
std::string Unchanged(const std::string& field) {
  const std::string now = "has(self.spec." + field + ")";
  const std::string before = "has(oldSelf.spec." + field + ")";
  return "(" + now + " ? " + before + " && " + Equal(field) + " : !" + before + ")";
}

Rule Immutable(const std::string& field) {
  return {"", "!" + std::string(kAccepted) + " || " + Unchanged(field),
          "is immutable once the job is accepted: create another job", "spec." + field, "FieldValueForbidden"};
}

// Returns the rule that `unchanged` holds for an accepted job unless it is suspended. `what` is the subject of the
// message; "": the subject is `field`.
Rule ImmutableUnlessSuspended(const std::string& field, const std::string& unchanged, const std::string& what) {
  return {"", "!" + std::string(kAccepted) + " || " + kSuspended + " || " + unchanged,
          (what.empty() ? "" : what + " ") + "may change only while the job is suspended", "spec." + field,
          "FieldValueForbidden"};
}

// Returns the rule for the fields of trainers that may change only while the job is suspended.
Rule TrainersUnlessSuspended() {
  std::string unchanged;
  for (const char* field : {"device", "featureCache", "gpus", "image", "resources", "env", "nodeSelector",
                            "tolerations", "serviceAccountName", "template"}) {
    unchanged += (unchanged.empty() ? "(" : " && ") + Unchanged("trainers." + std::string(field));
  }
  return ImmutableUnlessSuspended("trainers", unchanged + ")", "everything but replicas, minReplicas and maxReplicas");
}

// Returns an expression for whether the role has an image. has() checks only the last name of a path, so the role
// itself is checked first: it is absent in objects that were stored by a version without defaults for it. has() of its
// image would then be an error, and if a rule has an error, an API server rejects the write, even one of the status.
std::string HasImage(const std::string& object, const std::string& role) {
  const std::string at = object + ".spec." + role;
  return "(has(" + at + ") && has(" + at + ".image))";
}

// An image must not be removed from a document: the operator's current default would replace it, although the job has
// checkpoints of another version. The rule does not concern a default image, which the operator resolves only once.
Rule ImageNotRemovable(const std::string& role) {
  return {"", "!" + std::string(kAccepted) + " || !" + HasImage("oldSelf", role) + " || " + HasImage("self", role),
          "cannot be removed: name the image with which the job is to resume", "spec." + role + ".image",
          "FieldValueForbidden"};
}

}  // namespace

std::vector<Rule> ImmutabilityRules() {
  std::vector<Rule> rules;
  for (const char* field : {"storage", "graph", "training", "checkpoint", "output", "tls",
                            "servers.replicasPerPartition", "servers.containersPerPod", "servers.cacheMedium",
                            "trainers.containersPerPod", "trainers.threads", "trainers.program"}) {
    rules.push_back(Immutable(field));
  }
  rules.push_back(ImmutableUnlessSuspended("partitioner", Unchanged("partitioner"), ""));
  rules.push_back(ImmutableUnlessSuspended("servers", Unchanged("servers"), ""));
  rules.push_back(ImmutableUnlessSuspended("samplers", Unchanged("samplers"), ""));
  rules.push_back(TrainersUnlessSuspended());
  for (const char* role : {"partitioner", "servers", "samplers", "trainers"}) rules.push_back(ImageNotRemovable(role));
  // Immutable even before the job is accepted: two controllers must never manage the same job.
  rules.push_back(
      {"", Unchanged("runPolicy.managedBy"), "is immutable", "spec.runPolicy.managedBy", "FieldValueForbidden"});
  return rules;
}

}  // namespace espalier::ctl::schema

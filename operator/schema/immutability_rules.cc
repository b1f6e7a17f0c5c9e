// What may change when. A job that was accepted, or has ever begun, is what it is: replicas, labels and runPolicy may
// change, and while it is suspended, before or after the change, what decides where its pods run and from which image
// (queueing controllers write that when they admit a job, in the same request that resumes it). A job that was not
// accepted may be mended.
#include "operator/schema/rules.h"

namespace espalier::ctl::schema {
namespace {

// (Not with optionals: whose size an API server cannot estimate costs too much.)
// startTime never goes away again, whereas a change that is not accepted takes Accepted=True away.
constexpr char kAccepted[] =
    "(has(oldSelf.status) && (has(oldSelf.status.startTime) || has(oldSelf.status.conditions) && "
    "oldSelf.status.conditions.exists(one, one.type == 'Accepted' && one.status == 'True')))";
constexpr char kSuspended[] = "self.spec.runPolicy.suspend || oldSelf.spec.runPolicy.suspend";

std::string Equal(const std::string& field) { return "self.spec." + field + " == oldSelf.spec." + field; }

// Equal, or left out in both. The object that holds the field is always there.
std::string Unchanged(const std::string& field) {
  const std::string now = "has(self.spec." + field + ")";
  const std::string before = "has(oldSelf.spec." + field + ")";
  return "(" + now + " ? " + before + " && " + Equal(field) + " : !" + before + ")";
}

Rule Fixed(const std::string& field) {
  return {"", "!" + std::string(kAccepted) + " || " + Unchanged(field),
          "is immutable once the job is accepted: create another job", "spec." + field, "FieldValueForbidden"};
}

Rule FixedUnlessSuspended(const std::string& field, const std::string& unchanged, const std::string& what) {
  return {"", "!" + std::string(kAccepted) + " || " + kSuspended + " || " + unchanged,
          (what.empty() ? "" : what + " ") + "may change only while the job is suspended", "spec." + field,
          "FieldValueForbidden"};
}

// replicas, minReplicas and maxReplicas are left out.
Rule FixedTrainers() {
  std::string unchanged;
  for (const char* field :
       {"image", "resources", "env", "nodeSelector", "tolerations", "serviceAccountName", "template"}) {
    unchanged += (unchanged.empty() ? "(" : " && ") + Unchanged("trainers." + std::string(field));
  }
  return FixedUnlessSuspended("trainers", unchanged + ")", "everything but replicas, minReplicas and maxReplicas");
}

// has() looks at the last name only: where the role were left out (as in what is stored since a version without
// defaults for it), asking for its image would be an error, and an error refuses whatever is written, the status too.
std::string HasImage(const std::string& object, const std::string& role) {
  const std::string at = object + ".spec." + role;
  return "(has(" + at + ") && has(" + at + ".image))";
}

// Left out, it would be whatever the operator of the day takes for its default, under a job that has checkpoints of
// another; what the operator resolved once it keeps.
Rule KeepsAnImage(const std::string& role) {
  return {"", "!" + std::string(kAccepted) + " || !" + HasImage("oldSelf", role) + " || " + HasImage("self", role),
          "cannot be left out again: name the image that the job is to go on with", "spec." + role + ".image",
          "FieldValueForbidden"};
}

}  // namespace

std::vector<Rule> ImmutabilityRules() {
  std::vector<Rule> rules;
  for (const char* field :
       {"storage", "graph", "training", "checkpoint", "output", "tls", "servers.replicasPerPartition",
        "servers.containersPerPod", "servers.cacheMedium", "trainers.threads", "trainers.program"}) {
    rules.push_back(Fixed(field));
  }
  rules.push_back(FixedUnlessSuspended("partitioner", Unchanged("partitioner"), ""));
  rules.push_back(FixedUnlessSuspended("servers", Unchanged("servers"), ""));
  rules.push_back(FixedUnlessSuspended("samplers", Unchanged("samplers"), ""));
  rules.push_back(FixedTrainers());
  for (const char* role : {"partitioner", "servers", "samplers", "trainers"}) rules.push_back(KeepsAnImage(role));
  // Of a job's life, not of its acceptance: two controllers must never both take it for theirs.
  rules.push_back(
      {"", Unchanged("runPolicy.managedBy"), "is immutable", "spec.runPolicy.managedBy", "FieldValueForbidden"});
  return rules;
}

}  // namespace espalier::ctl::schema

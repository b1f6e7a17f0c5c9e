// Tests the administrator's policy on scripts, and attempts to circumvent it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/dry_run.h"
#include "operator/controller/pod_policy.h"
#include "operator/controller/testing/one_job.h"

namespace espalier::ctl::controller {
namespace {

using kube::Json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const PodPolicy kApproved{.scripts = std::vector<std::string>{"s3://code/approved", "ConfigMap/approved"}};

Json SpecWith(const Json& script, const Json& more = Json::object()) {
  Json spec = {{"trainers", {{"program", {{"command", {"sh"}}, {"script", script}}}}}};
  spec.merge_patch(more);
  return spec;
}
Json AtUri(const std::string& uri) { return SpecWith({{"uri", uri}}); }
Json InConfigMap(const std::string& name) { return SpecWith({{"configMapKeyRef", {{"name", name}, {"key", "a.py"}}}}); }

// Returns one line per violation, or the violations of the document itself if it is invalid.
std::string Violations(const Json& spec, const PodPolicy& policy = kApproved) {
  const api::DistTraining training = OneJob(spec).Training();
  if (!training.spec) return "invalid: " + training.violations;
  std::string text;
  for (const std::string& line : FindScriptPolicyViolations(policy, *training.spec)) text += line + "\n";
  return text;
}

TEST(ScriptPolicyTest, AcceptsUrisBelowPrefix) {
  for (const char* const uri : {"s3://code/approved/train.py", "S3A://code/approved/a/b.py", "s3://code/approved"}) {
    EXPECT_THAT(Violations(AtUri(uri)), IsEmpty()) << uri;
  }
  EXPECT_THAT(Violations(InConfigMap("approved")), IsEmpty());
  EXPECT_THAT(Violations(SpecWith({{"uri", "s3://code/approved/jobs.zip"}, {"entrypoint", "train.py"}})), IsEmpty());
  EXPECT_THAT(Violations(AtUri("s3://anywhere/train.py"), {}), IsEmpty());
  EXPECT_THAT(Violations({{"trainers", {{"program", {{"command", {"my-program"}}}}}}}), IsEmpty());
}

TEST(ScriptPolicyTest, RefusesOtherUrisInAnySpelling) {
  for (const char* const uri :
       {"s3://code/train.py", "s3://code/approved-not/train.py", "s3://code/Approved/train.py",
        "s3://Code/approved/train.py", "s3://code.evil/approved/train.py", "s3://evil/s3://code/approved/train.py",
        "s3://code/%61pproved/train.py", "s3://code/other/approved/train.py"}) {
    const std::string text = Violations(AtUri(uri));
    // Only some of these are valid URIs; none is accepted.
    EXPECT_THAT(text, HasSubstr("spec.trainers.program.script.uri: ")) << uri;
  }
  for (const char* const uri :
       {"s3://code/approved/../train.py", "s3://code/approved/./train.py", "s3://code/approved//train.py",
        "file:///code/approved/train.py", "https://code/approved/train.py", "gs://code/approved/train.py"}) {
    EXPECT_THAT(Violations(AtUri(uri)), HasSubstr("invalid: spec.trainers.program.script.uri")) << uri;
  }
  // To the store '%2e%2e' is an ordinary name below the prefix: it is not decoded.
  EXPECT_THAT(Violations(AtUri("s3://code/approved/%2e%2e/train.py")), IsEmpty());
  EXPECT_THAT(Violations(SpecWith({{"uri", "s3://code/approved/a.zip"}, {"entrypoint", "../../etc/passwd"}})),
              HasSubstr("invalid: spec.trainers.program.script.entrypoint"));
}

TEST(ScriptPolicyTest, AConfigMapIsNamedOrAllAre) {
  EXPECT_THAT(Violations(InConfigMap("other")), HasSubstr("spec.trainers.program.script.configMapKeyRef.name: "));
  EXPECT_THAT(Violations(InConfigMap("approved-not")), HasSubstr("is not allowed here"));
  const PodPolicy all_maps{.scripts = std::vector<std::string>{"ConfigMap"}};
  EXPECT_THAT(Violations(InConfigMap("other"), all_maps), IsEmpty());
  EXPECT_THAT(Violations(AtUri("s3://code/approved/train.py"), all_maps), HasSubstr("is not allowed here"));
  const PodPolicy none{.scripts = std::vector<std::string>()};
  for (const Json& spec : {InConfigMap("approved"), AtUri("s3://code/approved/train.py")}) {
    EXPECT_THAT(Violations(spec, none), HasSubstr("use a program in an image"));
  }
}

// In another store, a bucket of that name may belong to anyone.
TEST(ScriptPolicyTest, RefusesOtherEndpoints) {
  Json spec = AtUri("s3://code/approved/train.py");
  spec["storage"] = {{"s3", {{"endpoint", "https://evil.example.com"}}}};
  EXPECT_THAT(Violations(spec), HasSubstr("spec.storage.s3.endpoint: 'https://evil.example.com' is not allowed"));
  PodPolicy policy = kApproved;
  policy.script_endpoint = "https://s3.example.com";
  EXPECT_THAT(Violations(spec, policy), HasSubstr("expected https://s3.example.com"));
  spec["storage"]["s3"]["endpoint"] = "https://s3.example.com/";
  EXPECT_THAT(Violations(spec, policy), IsEmpty());
  spec.erase("storage");
  EXPECT_THAT(Violations(spec, policy), HasSubstr("spec.storage.s3.endpoint: "));
  EXPECT_THAT(Violations(InConfigMap("approved"), policy), IsEmpty());
}

TEST(ScriptPolicyTest, ARegionWithoutAnEndpointMayBeAnotherAws) {
  Json spec = AtUri("s3://code/approved/train.py");
  spec["storage"] = {{"s3", {{"region", "cn-north-1"}}}};
  EXPECT_THAT(Violations(spec), HasSubstr("spec.storage.s3.region: 'cn-north-1' is not allowed"));
  PodPolicy policy = kApproved;
  policy.script_endpoint = "https://s3.example.com";
  spec["storage"]["s3"]["endpoint"] = "https://s3.example.com";
  EXPECT_THAT(Violations(spec, policy), IsEmpty());
}

TEST(ScriptPolicyTest, RefusesChangesToFetcher) {
  const auto violations = [](const char* role, const Json& pod) {
    return Violations(SpecWith({{"uri", "s3://code/approved/train.py"}}, {{role, {{"template", {{"spec", pod}}}}}}));
  };
  for (const char* const role : {"trainers", "partitioner"}) {
    const std::string path = std::string("spec.") + role + ".template.spec.";
    const Json fetcher = {{"name", "script"},
                          {"env", Json::array({{{"name", "AWS_ENDPOINT_URL"}, {"value", "https://evil"}}})}};
    EXPECT_THAT(violations(role, {{"initContainers", Json::array({{{"name", "a"}, {"image", "i"}}, fetcher})}}),
                HasSubstr(path + "initContainers[1]: "));
    EXPECT_THAT(
        violations(role, {{"hostAliases",
                           Json::array({{{"ip", "10.0.0.1"}, {"hostnames", Json::array({"s3.example.com"})}}})}}),
        HasSubstr(path + "hostAliases: "));
    EXPECT_THAT(violations(role, {{"dnsConfig", {{"nameservers", Json::array({"10.0.0.1"})}}}}),
                HasSubstr(path + "dnsConfig: "));
    EXPECT_THAT(violations(role, {{"dnsPolicy", "None"}}), HasSubstr(path + "dnsPolicy: "));
    EXPECT_THAT(violations(role, {{"volumes", Json::array({{{"name", "script"}, {"emptyDir", Json::object()}}})}}),
                HasSubstr("invalid: spec."));
    EXPECT_THAT(violations(role, {{"priorityClassName", "batch"}}), IsEmpty());
  }
}

TEST(ScriptPolicyTest, JobThatViolatesPolicyIsNotAccepted) {
  OneJob job(AtUri("s3://code/train.py"));
  const api::DistTraining training = job.Training();
  const plan::Plan plan =
      plan::MakePlan(training, {}, {.core_image = "espalier/core:1", .trainer_image = "espalier/trainer:1"}, job.now);
  const auto templates = std::find_if(plan.actions.begin(), plan.actions.end(), [](const plan::Action& action) {
    return std::holds_alternative<plan::DryRunTemplates>(action);
  });
  ASSERT_NE(templates, plan.actions.end());
  const Result<plan::Observed::DryRun> answer =
      DryRun(job.client, std::get<plan::DryRunTemplates>(*templates), training, "test", kApproved);
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(answer->refusal, plan::Observed::DryRun::Refusal::kPodRules);
  EXPECT_THAT(answer->error, HasSubstr("spec.trainers.program.script.uri: the script 's3://code/train.py' is not "
                                       "allowed here: expected a script from s3://code/approved, ConfigMap/approved"));
}

}  // namespace
}  // namespace espalier::ctl::controller

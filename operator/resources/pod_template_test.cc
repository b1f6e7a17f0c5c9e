// Tests which fields a partial pod template adds or replaces, which fields of the operator stay, and templates with
// wrong types.
#include "operator/resources/pod_template.h"

#include <gtest/gtest.h>

namespace espalier::ctl::resources {
namespace {

using kube::Json;

Json Parsed(const char* text) { return *kube::ParseJson(text); }

// A small pod of the operator.
Json Ours() {
  return Parsed(R"({
    "metadata": {"labels": {"espalier.io/job": "cora"}},
    "spec": {
      "restartPolicy": "Never", "subdomain": "cora",
      "securityContext": {"runAsNonRoot": true},
      "tolerations": [{"key": "lost", "tolerationSeconds": 30}],
      "containers": [{
        "name": "trainer", "image": "ours:1", "command": ["espalier-trainer"],
        "env": [{"name": "ESPALIER_RANK", "value": "0"}, {"name": "OMP_WAIT_POLICY", "value": "passive"},
                {"name": "AWS_ACCESS_KEY_ID", "valueFrom": {"secretKeyRef": {"name": "s3", "key": "id"}}}],
        "ports": [{"name": "admin", "containerPort": 9090}],
        "volumeMounts": [{"name": "job", "mountPath": "/etc/espalier/job", "readOnly": true},
                         {"name": "cache", "mountPath": "/cache"}],
        "terminationMessagePath": "/dev/termination-log"}],
      "volumes": [{"name": "job", "configMap": {"name": "cora-config"}}, {"name": "cache", "emptyDir": {}}]
    }
  })");
}

Json Merge(const char* partial) { return MergePodTemplate(Ours(), Parsed(partial)); }
Json Program(const Json& pod) { return pod["spec"]["containers"][0]; }

TEST(MergePodTemplateTest, AnEmptyTemplateChangesNothing) {
  EXPECT_EQ(Merge("{}"), Ours());
  EXPECT_EQ(Merge("null"), Ours());
  EXPECT_EQ(Merge(R"({"metadata": null, "spec": {"containers": null}})"), Ours());
}

TEST(MergePodTemplateTest, AddsFieldsBesideOurs) {
  const Json pod = Merge(R"({
    "metadata": {"annotations": {"team": "graphs"}, "labels": {"cost": "42"}},
    "spec": {"priorityClassName": "batch", "securityContext": {"fsGroup": 7},
             "containers": [{"name": "trainer", "resources": {"limits": {"gpu": 1}}}]}})");

  EXPECT_EQ(pod["metadata"]["annotations"], Parsed(R"({"team": "graphs"})"));
  EXPECT_EQ(pod["metadata"]["labels"], Parsed(R"({"cost": "42", "espalier.io/job": "cora"})"));
  EXPECT_EQ(pod["spec"]["priorityClassName"], "batch");
  EXPECT_EQ(pod["spec"]["securityContext"], Parsed(R"({"fsGroup": 7, "runAsNonRoot": true})"));
  EXPECT_EQ(pod["spec"]["containers"].size(), 1u);
  EXPECT_EQ(Program(pod)["resources"], Parsed(R"({"limits": {"gpu": 1}})"));
  EXPECT_EQ(Program(pod)["command"], Parsed(R"(["espalier-trainer"])"));
}

TEST(MergePodTemplateTest, KeepsSidecarsAndTheirVolumes) {
  const char* const sidecar = R"({"name": "ship", "image": "ship:2", "command": ["ship"], "args": ["-v"],
                                  "env": [{"name": "ESPALIER_RANK", "value": "mine"}],
                                  "volumeMounts": [{"name": "spool", "mountPath": "/cache"}]})";
  const Json partial = {{"spec",
                         {{"containers", Json::array({Parsed(sidecar)})},
                          {"initContainers", Json::array({{{"name", "warm-up"}}})},
                          {"volumes", Json::array({{{"name", "spool"}, {"emptyDir", Json::object()}}})}}}};

  const Json pod = MergePodTemplate(Ours(), partial);

  ASSERT_EQ(pod["spec"]["containers"].size(), 2u);
  EXPECT_EQ(Program(pod), Program(Ours()));
  EXPECT_EQ(pod["spec"]["containers"][1], Parsed(sidecar));
  EXPECT_EQ(pod["spec"]["initContainers"], Parsed(R"([{"name": "warm-up"}])"));
  EXPECT_EQ(pod["spec"]["volumes"].size(), 3u);
  EXPECT_EQ(pod["spec"]["volumes"][2]["name"], "spool");
}

TEST(MergePodTemplateTest, RequiredFieldsAreKept) {
  const Json pod = Merge(R"({
    "metadata": {"labels": {"espalier.io/job": "other"}},
    "spec": {
      "restartPolicy": "Always", "subdomain": "elsewhere",
      "containers": [{
        "name": "trainer", "image": "theirs:2", "command": ["sh"], "args": ["-c", "true"],
        "terminationMessagePath": "/tmp/x", "terminationMessagePolicy": "FallbackToLogsOnError",
        "env": [{"name": "ESPALIER_RANK", "value": "9"}, {"name": "AWS_ACCESS_KEY_ID", "value": "plain"}],
        "volumeMounts": [{"name": "theirs", "mountPath": "/etc/espalier/job"}]}],
      "volumes": [{"name": "job", "hostPath": {"path": "/"}}]
    }})");

  EXPECT_EQ(pod, Ours());
}

TEST(MergePodTemplateTest, OptionalFieldsAreReplaced) {
  const Json pod = Merge(R"({
    "spec": {
      "securityContext": {"runAsNonRoot": false},
      "containers": [{"name": "trainer", "env": [{"name": "OMP_WAIT_POLICY", "value": "active"},
                                                 {"name": "MINE", "value": "1"}]}],
      "volumes": [{"name": "cache", "hostPath": {"path": "/nvme"}}]
    }})");

  EXPECT_EQ(pod["spec"]["securityContext"]["runAsNonRoot"], false);
  EXPECT_EQ(Program(pod)["env"][1], Parsed(R"({"name": "OMP_WAIT_POLICY", "value": "active"})"));
  EXPECT_EQ(Program(pod)["env"][3], Parsed(R"({"name": "MINE", "value": "1"})"));
  EXPECT_EQ(pod["spec"]["volumes"][1], Parsed(R"({"name": "cache", "hostPath": {"path": "/nvme"}})"))
      << "one source, not two";
}

TEST(MergePodTemplateTest, AppendsTolerationsAndReplacesOtherLists) {
  const Json pod = Merge(R"({"spec": {"tolerations": [{"key": "gpu"}, {"key": "lost", "tolerationSeconds": 30}],
                                      "hostAliases": [{"ip": "10.0.0.1"}]}})");
  EXPECT_EQ(pod["spec"]["tolerations"], Parsed(R"([{"key": "lost", "tolerationSeconds": 30}, {"key": "gpu"}])"));
  EXPECT_EQ(pod["spec"]["hostAliases"], Parsed(R"([{"ip": "10.0.0.1"}])"));
}

// Wrong types are kept, so that the API server can reject them with their path.
TEST(MergePodTemplateTest, KeepsFieldsOfWrongTypes) {
  EXPECT_EQ(Merge(R"({"spec": {"containers": "none"}})")["spec"]["containers"], "none");
  EXPECT_EQ(Merge(R"({"spec": {"volumes": {"job": 1}}})")["spec"]["volumes"], Parsed(R"({"job": 1})"));
  EXPECT_EQ(Merge(R"({"spec": 7})")["spec"], 7);
  EXPECT_EQ(Merge(R"({"metadata": {"labels": ["x"]}})")["metadata"]["labels"], Parsed(R"(["x"])"));
  EXPECT_EQ(Merge(R"({"metadata": []})")["metadata"], Json::array());
  const Json nameless = Merge(R"({"spec": {"containers": ["x", {"image": "y"}, {"name": 5}]}})");
  EXPECT_EQ(nameless["spec"]["containers"].size(), 4u);
  EXPECT_EQ(Program(nameless), Program(Ours()));
}

// The placement of a queue is merged after the user's template.
TEST(MergePodTemplateTest, KeepsLabelsOfWrongTypeInLaterMerge) {
  const Json pod = Merge(R"({"metadata": {"labels": "x"}})");
  EXPECT_EQ(MergePodTemplate(pod, Parsed(R"({"metadata": {"labels": {"a": "b"}}})")), pod);
}

TEST(MergePodTemplateTest, KeepsAllProgramContainers) {
  Json ours = Ours();
  Json second = Program(ours);
  second["name"] = "trainer-1";
  ours["spec"]["containers"].push_back(second);
  const Json partial = Parsed(R"({"spec": {"containers": [
      {"name": "trainer-1", "command": ["sh"], "env": [{"name": "ESPALIER_RANK", "value": "9"}]},
      {"name": "trainer", "image": "theirs:2"}]}})");
  EXPECT_EQ(MergePodTemplate(ours, partial, /*programs=*/2), ours);
}

// Templates of all shapes: the CRD's schema does not restrict them.
const char* const kTemplates[] = {
    "{}",
    R"({"spec": {"containers": [{"name": "trainer", "args": ["x"], "env": [{"name": "A", "value": "1"}]}]}})",
    R"({"spec": {"containers": [{"name": "a"}, {"name": "a", "image": "i"}, {"image": "n"}, 3, null]}})",
    R"({"spec": {"containers": [{"name": "trainer", "env": [{"name": "A"}, {"name": "A", "value": "2"}, {}, "s"]}]}})",
    R"({"spec": {"tolerations": [{"key": "a"}, {"key": "a"}], "volumes": [{"name": "cache"}, {"name": 1}]}})",
    R"({"spec": {"containers": [{"name": "trainer", "env": "x", "volumeMounts": 4, "ports": {}}]}})",
    R"({"spec": {"containers": {}, "volumes": "v", "tolerations": 1}})",
    R"({"metadata": {"labels": {"espalier.io/job": 3}, "annotations": "x"}, "spec": []})",
    R"({"metadata": 1})",
    R"({"spec": {"subdomain": null, "restartPolicy": {}, "affinity": {"podAffinity": null}}})",
};

TEST(MergePodTemplateTest, IsIdempotent) {
  for (const char* const text : kTemplates) {
    const Json once = Merge(text);
    EXPECT_EQ(MergePodTemplate(once, Parsed(text)), once) << text;
  }
}

TEST(MergePodTemplateTest, KeepsProgramForAnyTemplate) {
  for (const char* const text : kTemplates) {
    const Json pod = Merge(text);
    const Json* const containers = kube::Find(pod, {"spec", "containers"});
    if (containers == nullptr || !containers->is_array()) continue;  // rejected by the API server
    const Json& program = containers->front();
    EXPECT_EQ(program["command"], Parsed(R"(["espalier-trainer"])")) << text;
    EXPECT_EQ(program["image"], "ours:1") << text;
    EXPECT_FALSE(program.contains("args")) << text;
    if (!program["env"].is_array()) continue;
    EXPECT_EQ(program["env"][0], Program(Ours())["env"][0]) << text;
    EXPECT_EQ(program["env"][2], Program(Ours())["env"][2]) << text;
  }
}

}  // namespace
}  // namespace espalier::ctl::resources

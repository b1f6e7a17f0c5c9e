// Tests what a document may set for a program's script, and every way in which its templates could put other files in
// its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/api/dist_training.h"
#include "operator/api/testing/cluster_document.h"

namespace espalier::ctl::api {
namespace {

using kube::Json;
using testing::HasSubstr;
using testing::Not;

std::string ScriptViolations(const Json& spec) {
  Json object = ClusterDocument();
  object["spec"]["trainers"]["program"]["script"]["uri"] = "s3://code/train.py";
  object["spec"].merge_patch(spec);
  const Result<DistTraining> training = ParseDistTraining(object);
  EXPECT_TRUE(training.ok()) << training.status().ToString();
  return training.ok() ? training->violations : "";
}

// `pod` is the pod spec of a template, tried for the trainers and for the partitioner.
void ExpectScriptViolation(const Json& pod, const std::string& words) {
  for (const char* const role : {"trainers", "partitioner"}) {
    const std::string violations = ScriptViolations({{role, {{"template", {{"spec", pod}}}}}});
    EXPECT_THAT(violations, HasSubstr(std::string("spec.") + role + ".template: ")) << pod;
    EXPECT_THAT(violations, HasSubstr(words)) << pod;
  }
}

Json Containers(const char* list, const char* name, const Json& more) {
  Json container = {{"name", name}};
  container.update(more);
  return {{list, Json::array({std::move(container)})}};
}

TEST(CheckScriptTest, SourceIsObjectOrConfigMap) {
  EXPECT_EQ(ScriptViolations(Json::object()), "");
  EXPECT_THAT(ScriptViolations({{"trainers", {{"program", {{"script", {{"uri", "/mnt/train.py"}}}}}}}}),
              HasSubstr("spec.trainers.program.script.uri: on a cluster, expected s3://bucket/key or configMapKeyRef"));
  EXPECT_EQ(ScriptViolations(
                {{"trainers",
                  {{"program",
                    {{"script", {{"uri", nullptr}, {"configMapKeyRef", {{"name", "code"}, {"key", "a.py"}}}}}}}}}}),
            "");
}

TEST(CheckScriptTest, RefusesReservedVolumeNames) {
  for (const char* const volume : {"script", "script-source"}) {
    ExpectScriptViolation({{"volumes", Json::array({{{"name", volume}, {"configMap", {{"name", "other"}}}}})}},
                          std::string("the volume name '") + volume + "' is reserved for the program's script");
    for (const char* const list : {"initContainers", "containers"}) {
      ExpectScriptViolation(
          Containers(list, "other", {{"volumeMounts", Json::array({{{"name", volume}, {"mountPath", "/mnt"}}})}}),
          "container 'other' could change the program's script by its mount at '/mnt'");
    }
  }
}

TEST(CheckScriptTest, RefusesMountsOverScript) {
  for (const char* const path :
       {"/etc/espalier/script", "/etc/espalier/script/", "/etc/espalier/script/train.py", "/etc//espalier/./script",
        "/etc/espalier/../espalier/script/train.py", "/etc/espalier/script-source/train.py",
        "etc/espalier/script/train.py", "./etc/espalier/script", "/etc/espalier", "/etc/", "/"}) {
    ExpectScriptViolation(
        Containers("containers", "trainer", {{"volumeMounts", Json::array({{{"name", "v"}, {"mountPath", path}}})}}),
        path);
    ExpectScriptViolation(
        Containers("initContainers", "script", {{"volumeMounts", Json::array({{{"name", "v"}, {"mountPath", path}}})}}),
        path);
    ExpectScriptViolation(
        Containers("containers", "trainer", {{"volumeDevices", Json::array({{{"name", "v"}, {"devicePath", path}}})}}),
        path);
  }
  EXPECT_EQ(
      ScriptViolations(
          {{"trainers",
            {{"template",
              {{"spec", Containers("containers", "trainer",
                                   {{"volumeMounts", Json::array({{{"name", "v"}, {"mountPath", "/mnt"}}})}})}}}}}}),
      "");
}

TEST(CheckScriptTest, RefusesContainerWithNameOfFetcher) {
  ExpectScriptViolation(Containers("containers", "script", {{"image", "other"}}),
                        "the container name 'script' is reserved for the init container that fetches the program's");
}

// A job without a script may use all of these names.
TEST(CheckScriptTest, RulesApplyOnlyToJobsWithScript) {
  Json object = ClusterDocument();
  object["spec"]["trainers"]["template"]["spec"] = {
      {"volumes", Json::array({{{"name", "script"}, {"configMap", {{"name", "other"}}}}})}};
  EXPECT_EQ(ParseDistTraining(object)->violations, "");
}

}  // namespace
}  // namespace espalier::ctl::api

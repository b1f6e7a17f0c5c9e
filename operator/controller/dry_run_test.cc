#include "operator/controller/dry_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/plan/testing/a_training.h"

namespace espalier::ctl::controller {
namespace {

kube::Json ChildOf(const std::string& component) {
  return {{"metadata", {{"name", "x"}, {"labels", {{"app.kubernetes.io/component", component}}}}}};
}

std::string TranslateToDocument(const kube::Json& child, const std::string& message) {
  return controller::TranslateToDocument(child, plan::testing::ATraining(), message);
}

TEST(DryRunTest, NamesThePathInTheDocument) {
  EXPECT_EQ(TranslateToDocument(ChildOf("trainer"),
                                "PATCH jobs ml/x: failed to create typed patch object (ml/x; batch/v1, Kind=Job): "
                                ".spec.template.spec.foo: field not declared in schema"),
            "spec.trainers.template.spec.foo: field not declared in schema");
}

TEST(DryRunTest, ReadsStrictDecodingErrors) {
  EXPECT_EQ(TranslateToDocument(ChildOf("server"), "strict decoding error: unknown field \"spec.template.spec.foo\""),
            "spec.servers.template.spec.foo: unknown field");
}

TEST(DryRunTest, ListKeysMayContainAnyCharacter) {
  EXPECT_EQ(TranslateToDocument(ChildOf("sampler"),
                                ".spec.template.spec.containers[name=\"a:b c\"].foo: field not declared in schema"),
            "spec.samplers.template.spec.containers[name=\"a:b c\"].foo: field not declared in schema");
  EXPECT_EQ(TranslateToDocument(ChildOf("sampler"),
                                ".spec.template.spec.containers[name=\"a] \\\" b\"].foo: field not declared in schema"),
            "spec.samplers.template.spec.containers[name=\"a] \\\" b\"].foo: field not declared in schema");
}

TEST(DryRunTest, KeepsTextWithoutPath) {
  EXPECT_EQ(TranslateToDocument(ChildOf("partitioner"), "denied by a webhook"),
            "spec.partitioner.template: denied by a webhook");
  EXPECT_EQ(TranslateToDocument(ChildOf("job"), "spec.template.x: y"), "spec.template.x: y");
}

// A pod template as it is applied: variables of the operator and of the user, and a container of the template.
class FieldsOfTheRoleTest : public ::testing::Test {
 protected:
  static std::string Path(const std::string& path, const kube::Json& trainers) {
    kube::Json child = ChildOf("trainer");
    child["spec"]["template"]["spec"]["containers"] = kube::Json::array(
        {{{"name", "trainer"},
          {"env", kube::Json::array({{{"name", "ESPALIER_RANK"}}, {{"name", "DEBUG"}}, {{"name", "A] B"}}})}},
         {{"name", "proxy"}}});
    const api::DistTraining training = plan::testing::ATraining({{"trainers", trainers}});
    const std::string message =
        "Job.batch \"x\" is invalid: spec.template.spec." + path + ": Invalid value: 1: must be 2";
    const std::string said = controller::TranslateToDocument(child, training, message);
    constexpr const char* kWords = ": Invalid value: 1: must be 2";
    EXPECT_THAT(said, ::testing::EndsWith(kWords));
    return said.substr(0, said.find(kWords));
  }
  static kube::Json InTemplate(const kube::Json& container) {
    kube::Json named = container;
    named["name"] = "trainer";
    return {{"spec", {{"containers", kube::Json::array({named})}}}};
  }
  const kube::Json kResources = {{"requests", {{"cpu", "2"}}}, {"limits", {{"cpu", "1"}}}};
};

TEST_F(FieldsOfTheRoleTest, PrecedeTemplate) {
  EXPECT_EQ(Path("containers[0].resources.requests", {{"resources", kResources}}), "spec.trainers.resources.requests");
  EXPECT_EQ(Path("containers[name=\"trainer\"].resources.limits[cpu]", {{"resources", kResources}}),
            "spec.trainers.resources.limits[cpu]");
  EXPECT_EQ(Path("containers[0].image", {{"image", "a:b"}}), "spec.trainers.image");
  const kube::Json env = kube::Json::array({{{"name", "DEBUG"}, {"value", "1"}}});
  EXPECT_EQ(Path("containers[0].env[1].value", {{"env", env}}), "spec.trainers.env[name=\"DEBUG\"].value");
  const kube::Json bracket = kube::Json::array({{{"name", "A] B"}, {"value", "1"}}});
  EXPECT_EQ(Path("containers[0].env[name=\"A] B\"].value", {{"env", bracket}}),
            "spec.trainers.env[name=\"A] B\"].value");
  EXPECT_EQ(Path("nodeSelector", {{"nodeSelector", {{"a", "b"}}}}), "spec.trainers.nodeSelector");
  EXPECT_EQ(Path("serviceAccountName", {{"serviceAccountName", "me"}}), "spec.trainers.serviceAccountName");
}

TEST_F(FieldsOfTheRoleTest, DoNotHideTemplateErrors) {
  EXPECT_EQ(Path("containers[0].resources.requests",
                 {{"resources", kResources}, {"template", InTemplate({{"resources", kResources}})}}),
            "spec.trainers.template.spec.containers[name=\"trainer\"].resources.requests");
  EXPECT_EQ(Path("containers[0].resources.requests", {{"template", InTemplate({{"resources", kResources}})}}),
            "spec.trainers.template.spec.containers[name=\"trainer\"].resources.requests");
  EXPECT_EQ(Path("containers[1].resources", {{"resources", kResources}}),
            "spec.trainers.template.spec.containers[name=\"proxy\"].resources");
  EXPECT_EQ(Path("containers[7].resources", {{"resources", kResources}}),
            "spec.trainers.template.spec.containers[7].resources");
  EXPECT_EQ(Path("nodeSelectors", {{"nodeSelector", {{"a", "b"}}}}), "spec.trainers.template.spec.nodeSelectors");
}

}  // namespace
}  // namespace espalier::ctl::controller

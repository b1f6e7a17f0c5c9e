#include "operator/controller/dry_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::ctl::controller {
namespace {

kube::Json ChildOf(const std::string& component) {
  return {{"metadata", {{"name", "x"}, {"labels", {{"app.kubernetes.io/component", component}}}}}};
}

TEST(DryRunTest, NamesThePathInTheDocument) {
  EXPECT_EQ(InTermsOfDocument(ChildOf("trainer"),
                              "PATCH jobs ml/x: failed to create typed patch object (ml/x; batch/v1, Kind=Job): "
                              ".spec.template.spec.foo: field not declared in schema"),
            "spec.trainers.template.spec.foo: field not declared in schema");
}

TEST(DryRunTest, ReadsStrictDecodingErrors) {
  EXPECT_EQ(InTermsOfDocument(ChildOf("server"), "strict decoding error: unknown field \"spec.template.spec.foo\""),
            "spec.servers.template.spec.foo: unknown field");
}

TEST(DryRunTest, KeysOfListsMayHoldAnything) {
  EXPECT_EQ(InTermsOfDocument(ChildOf("sampler"),
                              ".spec.template.spec.containers[name=\"a:b c\"].foo: field not declared in schema"),
            "spec.samplers.template.spec.containers[name=\"a:b c\"].foo: field not declared in schema");
}

TEST(DryRunTest, KeepsWordsThatNameNoPath) {
  EXPECT_EQ(InTermsOfDocument(ChildOf("partitioner"), "denied by a webhook"),
            "spec.partitioner.template: denied by a webhook");
  EXPECT_EQ(InTermsOfDocument(ChildOf("job"), "spec.template.x: y"), "spec.template.x: y");
}

}  // namespace
}  // namespace espalier::ctl::controller

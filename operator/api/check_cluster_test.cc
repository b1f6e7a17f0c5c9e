#include "operator/api/check_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/api/testing/cluster_document.h"

namespace espalier::ctl::api {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string ViolationsOf(const kube::Json& object) {
  const Result<DistTraining> training = ParseDistTraining(object);
  EXPECT_TRUE(training.ok()) << training.status().ToString();
  return training.ok() ? training->violations : "";
}

void Mount(kube::Json* object, Role role, const std::string& mount_path) {
  (*object)["spec"][FieldName(role)]["template"]["spec"]["containers"] = {
      {{"name", "sidecar"}},
      {{"name", ToString(role)}, {"volumeMounts", {{{"name", "data"}, {"mountPath", mount_path}}}}}};
}

TEST(CheckClusterTest, BucketsRequireNoVolume) { EXPECT_EQ(ViolationsOf(ClusterDocument()), ""); }

TEST(CheckClusterTest, OutputUriIsRequired) {
  kube::Json object = ClusterDocument();
  object["spec"].erase("output");
  EXPECT_THAT(ViolationsOf(object), HasSubstr("spec.output.uri: is missing"));
}

TEST(CheckClusterTest, PluginPathIsInImageOrOnVolume) {
  kube::Json object = ClusterDocument();
  object["spec"]["servers"]["plugins"] = {{{"name", "a"}, {"path", "/opt/a.so"}}, {{"name", "b"}, {"path", "b.so"}}};
  EXPECT_THAT(ViolationsOf(object),
              HasSubstr("spec.servers.plugins[1].path: a relative path is not supported on a cluster"));
  EXPECT_THAT(ViolationsOf(object), Not(HasSubstr("plugins[0]")));
  object["spec"]["servers"]["plugins"][1]["path"] = "/mnt/b.so";
  EXPECT_EQ(ViolationsOf(object), "");
}

TEST(CheckClusterTest, PathMustBeBelowMountedVolume) {
  kube::Json object = ClusterDocument();
  object["spec"]["graph"]["source"]["uri"] = "file:///data/graphs/cora/";
  EXPECT_EQ(ViolationsOf(object),
            "spec.graph.source.uri: a path must lie under a volumeMount on a cluster, but spec.partitioner.template "
            "mounts nothing there in its container 'partitioner': mount a volume, or use s3://bucket/prefix");
  Mount(&object, Role::kTrainer, "/data");  // not the role that reads graphs
  EXPECT_THAT(ViolationsOf(object), HasSubstr("spec.graph.source.uri"));
  Mount(&object, Role::kPartitioner, "/data/");
  EXPECT_EQ(ViolationsOf(object), "");
  Mount(&object, Role::kPartitioner, "/data/graphs/cora");
  EXPECT_EQ(ViolationsOf(object), "");
  Mount(&object, Role::kPartitioner, "/data/graphs/co");
  EXPECT_THAT(ViolationsOf(object), HasSubstr("spec.graph.source.uri"));
}

TEST(CheckClusterTest, MountOfSidecarDoesNotCount) {
  kube::Json object = ClusterDocument();
  object["spec"]["graph"]["source"]["uri"] = "/data";
  Mount(&object, Role::kPartitioner, "/data");
  object["spec"]["partitioner"]["template"]["spec"]["containers"][1]["name"] = "sidecar-2";
  EXPECT_THAT(ViolationsOf(object), HasSubstr("spec.graph.source.uri"));
}

TEST(CheckClusterTest, DotsDoNotEscapeVolume) {
  kube::Json object = ClusterDocument();
  Mount(&object, Role::kPartitioner, "/data");
  object["spec"]["graph"]["source"]["uri"] = "/data/../etc";
  EXPECT_THAT(ViolationsOf(object), HasSubstr("spec.graph.source.uri"));
  object["spec"]["graph"]["source"]["uri"] = "file:/data/x/../cora";
  EXPECT_EQ(ViolationsOf(object), "");
}

TEST(CheckClusterTest, RefusesRelativePaths) {
  kube::Json object = ClusterDocument();
  object["spec"]["graph"]["source"]["uri"] = "graphs/cora";
  EXPECT_THAT(ViolationsOf(object), HasSubstr("spec.graph.source.uri: a relative path is not supported on a cluster"));
}

TEST(CheckClusterTest, PartitionsNeedVolumeOfPartitionerAndServers) {
  kube::Json object = ClusterDocument();
  object["spec"]["output"]["uri"] = "/results";
  for (const Role role : {Role::kPartitioner, Role::kServer, Role::kTrainer}) {
    EXPECT_THAT(ViolationsOf(object),
                HasSubstr(std::string("but spec.") + FieldName(role) + ".template mounts nothing"));
    Mount(&object, role, "/results");
  }
  EXPECT_EQ(ViolationsOf(object), "");

  object["spec"]["graph"]["partitions"]["uri"] = "/partitions";
  EXPECT_THAT(ViolationsOf(object), AllOf(HasSubstr("spec.graph.partitions.uri"), Not(HasSubstr("spec.output.uri"))));
  Mount(&object, Role::kPartitioner, "/partitions");
  Mount(&object, Role::kServer, "/partitions");
  EXPECT_EQ(ViolationsOf(object), "");
}

TEST(CheckClusterTest, SeveralPartitionersRequireSharedVolume) {
  kube::Json object = ClusterDocument();
  object["spec"]["graph"]["source"]["format"] = "NPY";
  object["spec"]["graph"]["partitions"] = {{"algorithm", "Random"}};
  object["spec"]["output"]["uri"] = "/data/results";
  for (const Role role : {Role::kPartitioner, Role::kServer, Role::kTrainer}) Mount(&object, role, "/data");
  const auto use = [&](const char* kind) {
    const kube::Json volume = {{"name", "data"}, {kind, kube::Json::object()}};
    object["spec"]["partitioner"]["template"]["spec"]["volumes"] = kube::Json::array({volume});
  };
  use("emptyDir");
  EXPECT_EQ(ViolationsOf(object), "");
  object["spec"]["partitioner"]["replicas"] = 2;
  EXPECT_THAT(
      ViolationsOf(object),
      HasSubstr("spec.output.uri: several partitioners exchange data there, but each pod has its own volume 'data'"));
  use("persistentVolumeClaim");
  EXPECT_EQ(ViolationsOf(object), "");
}

TEST(CheckClusterTest, RefusesSidecarWithNameOfServer) {
  kube::Json object = ClusterDocument();
  object["spec"]["servers"]["template"]["spec"]["containers"] = {{{"name", "server"}}, {{"name", "server-2"}}};
  EXPECT_EQ(ViolationsOf(object),
            "spec.servers.template: the container 'server-2' has the name of a server, but "
            "spec.servers.containersPerPod is 1: rename it");
  object["spec"]["servers"]["containersPerPod"] = 3;
  EXPECT_EQ(ViolationsOf(object), "");
}

TEST(CheckClusterTest, RefusesSidecarWithNameOfTrainer) {
  kube::Json object = ClusterDocument();
  object["spec"]["trainers"]["template"]["spec"]["initContainers"] = {{{"name", "trainer-1"}}};
  EXPECT_EQ(ViolationsOf(object),
            "spec.trainers.template: the container 'trainer-1' has the name of a trainer, but "
            "spec.trainers.containersPerPod is 1: rename it");
}

TEST(CheckClusterTest, AcceptsTemplatesOfAnyShape) {
  kube::Json object = ClusterDocument();
  object["spec"]["graph"]["source"]["uri"] = "/data";
  for (const char* pod : {R"([])", R"({"containers": 7})", R"({"containers": [7, null, {"volumeMounts": {}}]})",
                          R"({"containers": [{"volumeMounts": [7, {"mountPath": 7}, {"mountPath": "data"}]}]})"}) {
    object["spec"]["partitioner"]["template"]["spec"] = *kube::ParseJson(pod);
    EXPECT_THAT(ViolationsOf(object), HasSubstr("spec.graph.source.uri")) << pod;
  }
}

TEST(CheckClusterTest, ManagedByIsQualifiedName) {
  kube::Json object = ClusterDocument();
  for (const char* name : {"kueue.x-k8s.io/multikueue", "espalier.io/operator"}) {
    object["spec"]["runPolicy"]["managedBy"] = name;
    EXPECT_EQ(ViolationsOf(object), "") << name;
  }
  for (const char* name : {"kueue", "/x", "a/", "-a/x", "A/x", "a b/x", "a/x/y"}) {
    object["spec"]["runPolicy"]["managedBy"] = name;
    EXPECT_THAT(ViolationsOf(object), HasSubstr("spec.runPolicy.managedBy: expected a controller's name")) << name;
  }
}

}  // namespace
}  // namespace espalier::ctl::api

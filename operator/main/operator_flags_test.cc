#include "operator/main/operator_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "services/storage/testing/temporary_folder.h"

namespace espalier::ctl::process {
namespace {

using ::testing::HasSubstr;

TEST(OperatorFlagsTest, DefaultsAreValid) { EXPECT_TRUE(CheckOperatorFlags(OperatorFlags()).ok()); }

TEST(OperatorFlagsTest, ReadsFlags) {
  CLI::App app;
  OperatorFlags flags;
  AddOperatorFlags(app, &flags);
  EXPECT_EQ(flags.trainer_cuda_image, "");
  app.parse(
      "--cluster-wide --no-leader-elect --qps 0 --core-image core:7 --trainer-cuda-image cuda:7 --lease-seconds 20",
      false);
  EXPECT_TRUE(flags.cluster_wide);
  EXPECT_FALSE(flags.leader_elect);
  EXPECT_EQ(flags.qps, 0);
  EXPECT_EQ(flags.core_image, "core:7");
  EXPECT_EQ(flags.trainer_cuda_image, "cuda:7");
  EXPECT_EQ(flags.lease_seconds, 20);
}

TEST(OperatorFlagsTest, PodGroupsAreDisabledByDefault) {
  OperatorFlags flags;
  CLI::App app;
  AddOperatorFlags(app, &flags);
  EXPECT_FALSE(flags.gang_scheduling);
  app.parse("--gang-scheduling", false);
  EXPECT_TRUE(flags.gang_scheduling);
}

TEST(OperatorFlagsTest, KueueIsDisabledByDefault) {
  CLI::App app;
  OperatorFlags flags;
  AddOperatorFlags(app, &flags);
  EXPECT_FALSE(flags.kueue);
  app.parse("--kueue", false);
  EXPECT_TRUE(flags.kueue);
}

TEST(OperatorFlagsTest, ServesMetricsOnTheAdminPortUnlessAnotherPortIsGiven) {
  CLI::App app;
  OperatorFlags flags;
  AddOperatorFlags(app, &flags);
  EXPECT_EQ(flags.metrics_listen, "");
  app.parse("--metrics-listen [::]:8443 --metrics-certificate /tls/tls.crt --metrics-key /tls/tls.key", false);
  EXPECT_EQ(flags.metrics_listen, "[::]:8443");
  EXPECT_TRUE(CheckOperatorFlags(flags).ok());
  flags.metrics_certificate.clear();
  EXPECT_EQ(CheckOperatorFlags(flags).message(),
            "only one of --metrics-certificate and --metrics-key is set: set both, or neither");
  flags.metrics_key.clear();
  EXPECT_TRUE(CheckOperatorFlags(flags).ok());  // the process makes its own
  flags.metrics_listen = "8443";
  EXPECT_THAT(CheckOperatorFlags(flags).message(), HasSubstr("--metrics-listen: address '8443'"));
  flags = OperatorFlags();
  flags.metrics_certificate = flags.metrics_key = "/tls/file";
  EXPECT_EQ(CheckOperatorFlags(flags).message(), "--metrics-certificate: needs --metrics-listen");
}

TEST(OperatorFlagsTest, ReadsHowImagesArePulled) {
  CLI::App app;
  OperatorFlags flags;
  AddOperatorFlags(app, &flags);
  app.parse("--image-pull-policy Always --image-pull-secrets registry,mirror.of-us --workers 3", false);
  EXPECT_EQ(flags.image_pull_policy, "Always");
  EXPECT_EQ(flags.image_pull_secrets, (std::vector<std::string>{"registry", "mirror.of-us"}));
  EXPECT_TRUE(CheckOperatorFlags(flags).ok());
  flags.image_pull_secrets = {"Registry"};
  EXPECT_THAT(CheckOperatorFlags(flags).message(), HasSubstr("--image-pull-secrets: 'Registry'"));
  CLI::App other;
  AddOperatorFlags(other, &flags);
  EXPECT_THROW(other.parse("--image-pull-policy Sometimes", false), CLI::ValidationError);
}

TEST(OperatorFlagsTest, ReadsTheResourceOfGpus) {
  CLI::App app;
  OperatorFlags flags;
  AddOperatorFlags(app, &flags);
  EXPECT_EQ(flags.gpu_resource, "nvidia.com/gpu");
  app.parse("--gpu-resource nvidia.com/mig-1g.10gb", false);
  EXPECT_EQ(flags.gpu_resource, "nvidia.com/mig-1g.10gb");
  EXPECT_TRUE(CheckOperatorFlags(flags).ok());
  for (const char* const name : {"", "gpu", "cpu", "/gpu", "nvidia.com/", "nvidia.com/g/u", "nvidia.com/-gpu",
                                 "Nvidia.com/gpu", "kubernetes.io/gpu", "gpu.kubernetes.io/gpu"}) {
    flags.gpu_resource = name;
    EXPECT_EQ(CheckOperatorFlags(flags).message(), "--gpu-resource: '" + std::string(name) +
                                                       "' is not an extended resource: expected DOMAIN/NAME such as "
                                                       "nvidia.com/gpu, with a DOMAIN other than kubernetes.io");
  }
}

TEST(OperatorFlagsTest, ReadsDefaultsOfJobsFromAFile) {
  const storage::TemporaryFolder folder;
  OperatorFlags flags;
  EXPECT_TRUE(ReadJobDefaults(flags)->document.is_null());
  flags.job_defaults = folder.path() + "/defaults.yaml";
  EXPECT_THAT(ReadJobDefaults(flags).status().message(), HasSubstr("--job-defaults " + flags.job_defaults));
  std::ofstream(flags.job_defaults) << "template: {spec: {priorityClassName: batch}}\n";
  EXPECT_EQ(kube::StringAt(ReadJobDefaults(flags)->document, {"template", "spec", "priorityClassName"}), "batch");
  std::ofstream(flags.job_defaults) << "trainer: {}\n";
  EXPECT_THAT(ReadJobDefaults(flags).status().message(), HasSubstr("defaults.trainer: unknown field"));
}

TEST(OperatorFlagsTest, ReadsPodPolicy) {
  OperatorFlags flags;
  EXPECT_TRUE(MakePodPolicy(flags).allows_everything());
  CLI::App app;
  AddOperatorFlags(app, &flags);
  app.parse("--allowed-service-accounts - --allowed-images r.example/a,r.example/b --secret-label use=yes", false);
  EXPECT_TRUE(CheckOperatorFlags(flags).ok());
  const controller::PodPolicy policy = MakePodPolicy(flags);
  EXPECT_EQ(policy.service_accounts, std::vector<std::string>());
  EXPECT_EQ(policy.images, (std::vector<std::string>{"r.example/a", "r.example/b"}));
  EXPECT_EQ(policy.secret_label, "use=yes");
  flags.allowed_images = {"-", "r.example/a"};
  EXPECT_THAT(CheckOperatorFlags(flags).message(), HasSubstr("--allowed-images"));
  flags.allowed_images = {""};
  EXPECT_THAT(CheckOperatorFlags(flags).message(), HasSubstr("--allowed-images"));
}

TEST(OperatorFlagsTest, ReadsScriptPolicy) {
  OperatorFlags flags;
  CLI::App app;
  AddOperatorFlags(app, &flags);
  app.parse("--allowed-scripts s3://code/approved,ConfigMap/code --script-endpoint https://s3.example.com", false);
  EXPECT_TRUE(CheckOperatorFlags(flags).ok()) << CheckOperatorFlags(flags).ToString();
  const controller::PodPolicy policy = MakePodPolicy(flags);
  EXPECT_EQ(policy.scripts, (std::vector<std::string>{"s3://code/approved", "ConfigMap/code"}));
  EXPECT_EQ(policy.script_endpoint, "https://s3.example.com");
  for (const char* const place :
       {"code/approved", "/code", "s3://code/../x", "gs://code", "ConfigMap/", "ConfigMap/A"}) {
    flags.allowed_scripts = {place};
    EXPECT_THAT(CheckOperatorFlags(flags).message(), HasSubstr("--allowed-scripts: '" + std::string(place))) << place;
  }
  flags.allowed_scripts.clear();
  EXPECT_THAT(CheckOperatorFlags(flags).message(), HasSubstr("--script-endpoint requires --allowed-scripts"));
  flags.allowed_scripts = {"-"};
  flags.script_endpoint.clear();
  EXPECT_TRUE(CheckOperatorFlags(flags).ok());
  EXPECT_EQ(MakePodPolicy(flags).scripts, std::vector<std::string>());
}

TEST(OperatorFlagsTest, RefusesNamespaceWithClusterWide) {
  OperatorFlags flags;
  flags.name_space = "ml";
  flags.cluster_wide = true;
  EXPECT_THAT(CheckOperatorFlags(flags).message(), HasSubstr("--cluster-wide"));
}

TEST(OperatorFlagsTest, RefusesInvalidAdminAddress) {
  OperatorFlags flags;
  flags.admin_listen = "127.0.0.1";
  EXPECT_THAT(CheckOperatorFlags(flags).message(),
              HasSubstr("--admin-listen: address '127.0.0.1': expected host:port"));
}

TEST(OperatorFlagsTest, RefusesUnsafeLeaseTimes) {
  OperatorFlags flags;
  flags.lease_renew_seconds = flags.lease_seconds;
  EXPECT_THAT(CheckOperatorFlags(flags).message(), HasSubstr("--lease-renew-seconds"));
  flags = OperatorFlags();
  flags.lease_retry_seconds = 3;
  EXPECT_TRUE(CheckOperatorFlags(flags).ok());
  flags.lease_renew_seconds = 6;
  EXPECT_FALSE(CheckOperatorFlags(flags).ok());
  flags.leader_elect = false;
  EXPECT_TRUE(CheckOperatorFlags(flags).ok());
}

TEST(OperatorFlagsTest, WatchesOwnNamespaceByDefault) {
  OperatorFlags flags;
  client::Connection connection;
  EXPECT_EQ(WatchedNamespace(flags, connection), "default");
  connection.name_space = "espalier";
  EXPECT_EQ(WatchedNamespace(flags, connection), "espalier");
  flags.name_space = "ml";
  EXPECT_EQ(WatchedNamespace(flags, connection), "ml");
  flags.name_space.clear();
  flags.cluster_wide = true;
  EXPECT_EQ(WatchedNamespace(flags, connection), "");
}

}  // namespace
}  // namespace espalier::ctl::process

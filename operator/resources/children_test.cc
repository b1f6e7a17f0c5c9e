// Tests properties that the children of all jobs have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "operator/resources/addresses.h"
#include "operator/resources/labels.h"
#include "operator/resources/names.h"
#include "operator/resources/testing/jobs.h"

namespace espalier::ctl::resources {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

using kube::Json;
using testing::FullJob;
using testing::Job;
using testing::JobWith;
using testing::SmallJob;
using testing::TwoContainersJob;

std::vector<Json> Workloads(const Job& job) {
  const Context context = job.context();
  return {PartitionJob(context), ServerSet(context, 0, false), SamplerSet(context, false), TrainerJob(context)};
}

std::vector<Json> Children(const Job& job) {
  const Context context = job.context();
  std::vector<Json> children = Workloads(job);
  for (Json& child : std::vector<Json>{Service(context), ServiceAccount(context), ConfigMap(context),
                                       TrainerConfigMap(context), NetworkPolicy(context), DisruptionBudget(context)}) {
    children.push_back(std::move(child));
  }
  return children;
}

const Json& PodOf(const Json& workload) { return workload["spec"]["template"]["spec"]; }
const Json& ProgramOf(const Json& workload) { return PodOf(workload)["containers"][0]; }

// Returns the value or source of the variable, or null.
Json VariableOf(const Json& workload, const std::string& name) {
  for (const Json& variable : ProgramOf(workload)["env"]) {
    if (variable["name"] == name) return variable.contains("value") ? variable["value"] : variable["valueFrom"];
  }
  return nullptr;
}

std::string SelectInputs(const Json& child) {
  return kube::StringAt(child, {"metadata", "annotations", kInputsAnnotation});
}

bool Selects(const Json& selector, const Json& labels) {
  for (const auto& [name, value] : selector.items()) {
    if (!labels.contains(name) || labels[name] != value) return false;
  }
  return !selector.empty();
}

TEST(NamesTest, FitLabelsAndHostNames) {
  const std::string longest(40, 'a');
  constexpr size_t kMaxLabelLength = 63;
  EXPECT_LE((TrainerJobName(longest, 999'999) + "-1023").size(), kMaxLabelLength);
  EXPECT_LE((ServerSetName(longest, 15) + "-4095").size(), kMaxLabelLength);
  EXPECT_LE((ServerSetName(longest, 15) + "-0123456789").size(), kMaxLabelLength) << "with the hash of a revision";
  EXPECT_LE(TlsSecretName(longest, api::Role::kPartitioner).size(), kMaxLabelLength);
}

// The plan compares these with the annotations of existing objects, without building the new ones.
TEST(ChildrenTest, InputsEqualThoseOfBuiltObjects) {
  for (const Job& job : {SmallJob(), FullJob()}) {
    const Context context = job.context();
    for (const Json& child : {Service(context), ServiceAccount(context), ConfigMap(context), NetworkPolicy(context),
                              DisruptionBudget(context)}) {
      EXPECT_EQ(InputsOfShared(context), SelectInputs(child)) << child["kind"];
    }
    for (const bool scaled_to_zero : {false, true}) {
      for (const int64_t replica : {0, 1}) {
        EXPECT_EQ(InputsOfServerSet(context, scaled_to_zero),
                  SelectInputs(ServerSet(context, replica, scaled_to_zero)));
      }
      EXPECT_EQ(InputsOfSamplerSet(context, scaled_to_zero), SelectInputs(SamplerSet(context, scaled_to_zero)));
    }
  }
}

TEST(ChildrenTest, HaveOwnerAndJobLabels) {
  const Job job = FullJob();
  for (const Json& child : Children(job)) {
    const auto meta = kube::ParseObjectMeta(child);
    ASSERT_TRUE(meta.ok()) << meta.status().ToString();
    ASSERT_TRUE(meta->controller.has_value()) << child;
    EXPECT_EQ(meta->controller->uid, job.training.meta.uid);
    EXPECT_EQ(meta->key.name_space, "ml");
    EXPECT_EQ(meta->labels.at(kManagedByLabel), "espalier-operator");
    EXPECT_EQ(meta->labels.at(kJobLabel), "cora");
    EXPECT_EQ(SelectInputs(child).size(), 16u);
    EXPECT_NE(kube::FindResource(child["apiVersion"].get<std::string>(), child["kind"].get<std::string>()), nullptr);
  }
}

TEST(ChildrenTest, SelectTheirOwnPodsOnly) {
  const Job job = FullJob();
  const Context context = job.context();
  const Json first = ServerSet(context, 0, false);
  const Json second = ServerSet(context, 1, false);
  const Json samplers = SamplerSet(context, false);
  const Json budget = DisruptionBudget(context)["spec"]["selector"]["matchLabels"];
  const Json service = Service(context)["spec"]["selector"];
  const auto selector = [](const Json& set) { return set["spec"]["selector"]["matchLabels"]; };
  const auto labels = [](const Json& workload) { return workload["spec"]["template"]["metadata"]["labels"]; };

  EXPECT_TRUE(Selects(selector(first), labels(first)));
  EXPECT_FALSE(Selects(selector(first), labels(second)));
  EXPECT_FALSE(Selects(selector(first), labels(samplers)));
  EXPECT_TRUE(Selects(selector(samplers), labels(samplers)));
  EXPECT_TRUE(Selects(budget, labels(second)));
  EXPECT_FALSE(Selects(budget, labels(samplers)));
  for (const Json& workload : Workloads(job)) EXPECT_TRUE(Selects(service, labels(workload)));
}

// https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
TEST(ChildrenTest, MeetRestrictedPodSecurityStandard) {
  for (const Job& job : {SmallJob(), FullJob()}) {
    for (const Json& workload : Workloads(job)) {
      EXPECT_EQ(PodOf(workload)["securityContext"]["runAsNonRoot"], true);
      EXPECT_EQ(PodOf(workload)["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
      const Json& container = ProgramOf(workload)["securityContext"];
      EXPECT_EQ(container["allowPrivilegeEscalation"], false);
      EXPECT_EQ(container["capabilities"]["drop"], Json::array({"ALL"}));
      EXPECT_EQ(container["readOnlyRootFilesystem"], true);
      for (const Json& volume : PodOf(workload)["volumes"]) {
        EXPECT_TRUE(volume.contains("emptyDir") || volume.contains("configMap") || volume.contains("secret"));
      }
    }
  }
}

TEST(ChildrenTest, MountsHaveVolumes) {
  for (const Job& job : {SmallJob(), FullJob()}) {
    for (const Json& workload : Workloads(job)) {
      std::vector<std::string> volumes;
      for (const Json& volume : PodOf(workload)["volumes"]) volumes.push_back(volume["name"]);
      for (const Json& container : PodOf(workload)["containers"]) {
        for (const Json& mount : container["volumeMounts"]) EXPECT_THAT(volumes, Contains(mount["name"]));
      }
    }
  }
}

TEST(ChildrenTest, HaveTolerationsAndTerminationMessages) {
  for (const Json& workload : Workloads(FullJob())) {
    std::vector<std::string> taints;
    for (const Json& toleration : PodOf(workload)["tolerations"]) {
      if (toleration.value("tolerationSeconds", 0) == 30) taints.push_back(toleration["key"]);
    }
    EXPECT_THAT(taints, ElementsAre("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"));
    EXPECT_EQ(ProgramOf(workload)["terminationMessagePath"], VariableOf(workload, "ESPALIER_TERMINATION_LOG"));
  }
}

TEST(ChildrenTest, MountTokenOnlyForNamedServiceAccount) {
  const Job job = FullJob();
  const Json partitioner = PartitionJob(job.context());
  EXPECT_EQ(PodOf(partitioner)["serviceAccountName"], "graph-reader");
  EXPECT_FALSE(PodOf(partitioner).contains("automountServiceAccountToken"));
  const Json trainers = TrainerJob(job.context());
  EXPECT_EQ(PodOf(trainers)["serviceAccountName"], ServiceAccount(job.context())["metadata"]["name"]);
  EXPECT_EQ(PodOf(trainers)["automountServiceAccountToken"], false);
}

TEST(ChildrenTest, PullPolicyComesFromTemplate) {
  const Json own = {{"spec",
                     {{"imagePullSecrets", Json::array({{{"name", "own"}}})},
                      {"containers", Json::array({{{"name", "server"}, {"imagePullPolicy", "Never"}}})}}}};
  const Job job = JobWith({{"servers", {{"template", own}}}});
  Context context = job.context();
  EXPECT_EQ(ProgramOf(TrainerJob(context))["imagePullPolicy"], "IfNotPresent");
  EXPECT_FALSE(PodOf(TrainerJob(context)).contains("imagePullSecrets"));
  const std::string inputs = SelectInputs(TrainerJob(context));

  context.image_pull = {.policy = "Always", .secrets = {"registry"}};
  EXPECT_EQ(ProgramOf(TrainerJob(context))["imagePullPolicy"], "Always");
  EXPECT_EQ(PodOf(TrainerJob(context))["imagePullSecrets"], Json::array({{{"name", "registry"}}}));
  EXPECT_EQ(SelectInputs(TrainerJob(context)), inputs) << "what runs is not re-applied";
  const Json servers = ServerSet(context, 0, false);
  EXPECT_EQ(ProgramOf(servers)["imagePullPolicy"], "Never");
  EXPECT_EQ(PodOf(servers)["imagePullSecrets"], Json::array({{{"name", "registry"}}, {{"name", "own"}}}));
}

TEST(ChildrenTest, OnlyRolesWithStoresHaveCredentials) {
  const Job job = FullJob();
  const Context context = job.context();
  const Json credentials = {{"secretKeyRef", {{"name", "cora-s3"}, {"key", "AWS_SECRET_ACCESS_KEY"}}}};
  for (const Json& workload : {PartitionJob(context), ServerSet(context, 0, false), TrainerJob(context)}) {
    EXPECT_EQ(VariableOf(workload, "AWS_SECRET_ACCESS_KEY"), credentials);
    EXPECT_EQ(VariableOf(workload, "AWS_ENDPOINT_URL_S3"), "https://s3.example.com");
    EXPECT_EQ(VariableOf(workload, "AWS_REGION"), "eu-west-1");
  }
  EXPECT_EQ(VariableOf(SamplerSet(context, false), "AWS_SECRET_ACCESS_KEY"), nullptr);
}

TEST(ChildrenTest, UseDnsNames) {
  const Job job = FullJob();
  Context context = job.context();
  context.cluster_domain = "example.org";
  context.status.incarnation = 4;
  EXPECT_EQ(ServerAddresses(context), "cora-server-0-[0-1].cora.ml.svc.example.org:7000");
  EXPECT_EQ(ServerAddresses(SmallJob().context()), "cora-server-0-0.cora.ml.svc.cluster.local:7000");
  EXPECT_EQ(
      ServerAddresses(
          JobWith({{"graph", {{"partitions", {{"count", 3}}}}}, {"servers", {{"replicasPerPartition", 2}}}}).context()),
      "cora-server-0-[0-2].cora.ml.svc.cluster.local:7000|cora-server-1-[0-2].cora.ml.svc.cluster.local:7000");
  const Json trainers = TrainerJob(context);
  EXPECT_EQ(VariableOf(trainers, "ESPALIER_SERVERS"), ServerAddresses(context));
  EXPECT_EQ(VariableOf(trainers, "ESPALIER_SAMPLERS"), "cora-sampler-[0-1].cora.ml.svc.example.org:7100");
  EXPECT_EQ(VariableOf(trainers, "ESPALIER_JOB_NAME"), "cora");
  EXPECT_EQ(VariableOf(SamplerSet(context, false), "ESPALIER_JOB_NAME"), "cora") << "else they refuse the trainers";
  EXPECT_EQ(VariableOf(trainers, "ESPALIER_RENDEZVOUS"), "cora-trainer-4-0.cora.ml.svc.example.org:7200");
  EXPECT_EQ(PodOf(trainers)["subdomain"], Service(context)["metadata"]["name"]);
  EXPECT_EQ(VariableOf(TrainerJob(SmallJob().context()), "ESPALIER_SAMPLERS"), nullptr);
}

TEST(ChildrenTest, ListAllServerContainersInOrder) {
  const Job job = JobWith({{"graph", {{"partitions", {{"count", 2}}}}},
                           {"servers", {{"replicasPerPartition", 2}, {"containersPerPod", 2}}}});
  EXPECT_EQ(ServerAddresses(job.context()),
            "cora-server-0-[0-1].cora.ml.svc.cluster.local:7000|cora-server-0-[0-1].cora.ml.svc.cluster.local:7001|"
            "cora-server-1-[0-1].cora.ml.svc.cluster.local:7000|cora-server-1-[0-1].cora.ml.svc.cluster.local:7001");
}

TEST(ServerContainersTest, AreTheSameButForTheirPorts) {
  const Json set = ServerSet(TwoContainersJob().context(), 0, false);
  const Json& containers = PodOf(set)["containers"];
  ASSERT_EQ(containers.size(), 3u);
  EXPECT_EQ(containers[0]["name"], "server");
  EXPECT_EQ(containers[1]["name"], "server-1");
  EXPECT_EQ(containers[2]["name"], "log-shipper");
  for (const char* const same : {"image", "command", "resources", "volumeMounts", "securityContext"}) {
    EXPECT_EQ(containers[0][same], containers[1][same]) << same;
  }
  EXPECT_EQ(containers[0]["env"].size(), containers[1]["env"].size());
  for (const char* const probe : {"startupProbe", "livenessProbe"}) {
    EXPECT_EQ(containers[1][probe]["httpGet"]["port"], containers[1]["ports"][1]["name"]);
  }
  EXPECT_EQ(containers[1]["ports"][1]["containerPort"], kAdminPort + 1);
}

// Each failed probe is a Warning event. So there are no probes before the program listens, one request waits until it
// is ready, and there are none after a trainer has ended.
TEST(ProbesTest, StartupProbeWaitsForReadiness) {
  const Json server = PodOf(ServerSet(TwoContainersJob().context(), 0, false))["containers"][0];
  const Json trainer = PodOf(TrainerJob(TwoContainersJob().context()))["containers"][0];
  for (const Json& container : {server, trainer}) {
    EXPECT_EQ(container["startupProbe"]["httpGet"]["path"], "/readyz?wait");
    EXPECT_GT(container["startupProbe"]["initialDelaySeconds"], 0);
    EXPECT_FALSE(container.contains("readinessProbe"));
  }
  EXPECT_TRUE(server.contains("livenessProbe"));
  EXPECT_FALSE(trainer.contains("livenessProbe"));
}

// Kubernetes requires unique port names in a pod, and two processes of a pod cannot listen on the same port.
TEST(ServerContainersTest, ShareNoPortOfTheirPod) {
  const Json set = ServerSet(JobWith({{"servers", {{"containersPerPod", 16}}}}).context(), 0, false);
  std::set<std::string> names;
  std::set<int> numbers;
  for (const Json& container : PodOf(set)["containers"]) {
    for (const Json& port : container["ports"]) {
      EXPECT_TRUE(names.insert(port["name"].get<std::string>()).second) << port;
      EXPECT_TRUE(numbers.insert(port["containerPort"].get<int>()).second) << port;
      EXPECT_LE(port["name"].get<std::string>().size(), 15u);
    }
  }
  EXPECT_EQ(numbers.size(), 32u);
}

TEST(TrainerContainersTest, RanksFollowFromPodAndContainer) {
  const Json job = TrainerJob(TwoContainersJob().context());
  EXPECT_EQ(job["spec"]["completions"], 2);
  EXPECT_EQ(job["spec"]["parallelism"], 2);
  const Json& containers = PodOf(job)["containers"];
  ASSERT_EQ(containers.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    std::map<std::string, Json> variables;
    for (const Json& variable : containers[i]["env"]) {
      variables[variable["name"].get<std::string>()] = variable.value("value", Json());
    }
    EXPECT_EQ(containers[i]["name"], i == 0 ? "trainer" : "trainer-" + std::to_string(i));
    EXPECT_EQ(variables["ESPALIER_WORLD_SIZE"], "6");
    EXPECT_TRUE(variables.contains("ESPALIER_POD_INDEX")) << "a field of the pod";
    EXPECT_EQ(variables["ESPALIER_TRAINERS_PER_POD"], "3");
    EXPECT_EQ(variables["ESPALIER_TRAINER_IN_POD"], std::to_string(i));
    EXPECT_EQ(variables["ESPALIER_RING_LISTEN"], "[::]:" + std::to_string(kTrainerPort + static_cast<int>(i)));
    EXPECT_EQ(variables["ESPALIER_ADMIN_LISTEN"], "[::]:" + std::to_string(kAdminPort + static_cast<int>(i)));
    EXPECT_EQ(variables["ESPALIER_SHARED_ROW_FILE"], "/dev/shm/espalier-rows");
    EXPECT_THAT(containers[i]["volumeMounts"], Contains(Json({{"name", "shared-memory"}, {"mountPath", "/dev/shm"}})));
  }
}

TEST(ServerContainersTest, TemplateAppliesToEachServer) {
  const Json mount = {{"name", "plugins"}, {"mountPath", "/plugins"}};
  const Json containers =
      Json::array({{{"name", "server-1"}, {"resources", {{"limits", {{"memory", "2Gi"}}}}}},
                   {{"name", "server"}, {"command", {"sh"}}, {"volumeMounts", Json::array({mount})}},
                   {{"name", "log-shipper"}, {"image", "shipper:2"}}});
  const Job job = JobWith({{"servers",
                            {{"containersPerPod", 3},
                             {"resources", {{"limits", {{"memory", "1Gi"}}}}},
                             {"template", {{"spec", {{"containers", containers}}}}}}}});
  const Json set = ServerSet(job.context(), 0, false);
  const Json& merged = PodOf(set)["containers"];
  ASSERT_EQ(merged.size(), 4u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(merged[i]["volumeMounts"], Contains(mount)) << i;
    EXPECT_EQ(merged[i]["command"], Json::array({"espalier-graph-server"})) << i;
    EXPECT_EQ(merged[i]["resources"]["limits"]["memory"], i == 1 ? "2Gi" : "1Gi") << i;
  }
  EXPECT_EQ(merged[3]["name"], "log-shipper");
}

TEST(ChildrenTest, EscapeDollarSignsOfUris) {
  const Job job = JobWith({{"output", {{"uri", "s3://results/$(HOME)/$$x"}}}});
  EXPECT_EQ(VariableOf(TrainerJob(job.context()), "ESPALIER_OUTPUT"), "s3://results/$$(HOME)/$$$$x/cora-6f1c9c1e");
  EXPECT_THAT(ProgramOf(PartitionJob(job.context()))["args"],
              Contains("--output=s3://results/$$(HOME)/$$$$x/partitions"));
}

TEST(TlsTest, ManagedMountsTheRolesOwnSecret) {
  const Job job = FullJob();
  const Json servers = ServerSet(job.context(), 0, false);
  EXPECT_EQ(VariableOf(servers, "ESPALIER_TLS_JOB"), "ml/" + job.training.meta.uid);
  EXPECT_THAT(PodOf(servers)["volumes"],
              Contains(Json({{"name", "tls"}, {"secret", {{"secretName", "cora-tls-server"}}}})));
  EXPECT_EQ(VariableOf(servers, "ESPALIER_INSECURE_LISTEN_ANY"), nullptr);
}

TEST(TlsTest, SecretRefMountsTheRolesPairOfTheGivenSecret) {
  const Job job = JobWith({{"tls", {{"mode", "SecretRef"}, {"secretName", "given"}}}});
  const Json trainers = TrainerJob(job.context());
  const Json volumes = PodOf(trainers)["volumes"];
  const auto tls = std::find_if(volumes.begin(), volumes.end(), [](const Json& v) { return v["name"] == "tls"; });
  ASSERT_NE(tls, volumes.end());
  EXPECT_EQ((*tls)["secret"]["secretName"], "given");
  EXPECT_THAT((*tls)["secret"]["items"], ElementsAre(Json({{"key", "ca.crt"}, {"path", "ca.crt"}}),
                                                     Json({{"key", "trainer.crt"}, {"path", "tls.crt"}}),
                                                     Json({{"key", "trainer.key"}, {"path", "tls.key"}})));
}

TEST(TlsTest, DisabledListensInPlaintext) {
  const Job job = JobWith({{"tls", {{"mode", "Disabled"}}}, {"samplers", {{"replicas", 1}}}});
  const Context context = job.context();
  for (const Json& workload : {ServerSet(context, 0, false), SamplerSet(context, false), TrainerJob(context)}) {
    EXPECT_EQ(VariableOf(workload, "ESPALIER_INSECURE_LISTEN_ANY"), "true");
    EXPECT_EQ(VariableOf(workload, "ESPALIER_TLS_CA"), nullptr);
    for (const Json& volume : PodOf(workload)["volumes"]) EXPECT_NE(volume["name"], "tls");
  }
  EXPECT_EQ(NetworkPolicy(context)["spec"], NetworkPolicy(SmallJob().context())["spec"]);
}

TEST(NetworkPolicyTest, OpensAdminPortToAllAndDataPortsToJob) {
  const Json ingress = NetworkPolicy(FullJob().context())["spec"]["ingress"];
  ASSERT_EQ(ingress.size(), 2u);
  EXPECT_EQ(ingress[0]["from"].size(), 1u);
  EXPECT_EQ(ingress[0]["ports"].size(), 3u);
  EXPECT_FALSE(ingress[1].contains("from"));
  EXPECT_EQ(ingress[1]["ports"], Json::array({{{"port", kAdminPort}, {"protocol", "TCP"}}}));
}

TEST(StatefulSetsTest, ScalingToZeroChangesOnlyReplicas) {
  const Job job = FullJob();
  const Context context = job.context();
  Json stopped = ServerSet(context, 0, true);
  const Json running = ServerSet(context, 0, false);
  EXPECT_EQ(stopped["spec"]["replicas"], 0);
  EXPECT_EQ(running["spec"]["replicas"], 2);
  EXPECT_NE(SelectInputs(stopped), SelectInputs(running));
  stopped["spec"]["replicas"] = 2;
  EXPECT_EQ(stopped["spec"], running["spec"]);
  EXPECT_EQ(SamplerSet(context, true)["spec"]["replicas"], 0);
}

TEST(PartitionJobTest, SeveralPodsAreIndexedWithUniqueGroupName) {
  const auto partitioners = [](int replicas) {
    return JobWith({{"partitioner", {{"replicas", replicas}}},
                    {"graph", {{"source", {{"format", "NPY"}}}, {"partitions", {{"algorithm", "Random"}}}}}});
  };
  const Job job = partitioners(3);
  const Json first = PartitionJob(job.context());
  EXPECT_EQ(first["spec"]["completionMode"], "Indexed");
  EXPECT_EQ(first["spec"]["completions"], 3);
  EXPECT_EQ(first["spec"]["parallelism"], 3);
  EXPECT_EQ(first["spec"]["backoffLimit"], 0);
  EXPECT_EQ(VariableOf(first, "ESPALIER_PARTITIONER_RANK")["fieldRef"]["fieldPath"],
            "metadata.annotations['batch.kubernetes.io/job-completion-index']");
  EXPECT_EQ(VariableOf(first, "ESPALIER_PARTITIONER_WORLD_SIZE"), "3");
  EXPECT_THAT(ProgramOf(first)["args"], Contains("--start-timeout-seconds=86400"));
  const std::string group = VariableOf(first, "ESPALIER_PARTITIONER_GROUP");
  EXPECT_EQ(group, "6f1c9c1e-0000-4000-8000-000000000001-1-of-3");

  Context next = job.context();
  next.status.partition_attempt = 999'999;
  EXPECT_NE(VariableOf(PartitionJob(next), "ESPALIER_PARTITIONER_GROUP"), group);
  EXPECT_LE(VariableOf(PartitionJob(next), "ESPALIER_PARTITIONER_GROUP").get<std::string>().size(), 64u);
  const Job fewer = partitioners(2);
  EXPECT_NE(VariableOf(PartitionJob(fewer.context()), "ESPALIER_PARTITIONER_GROUP"), group);
  EXPECT_NE(SelectInputs(PartitionJob(fewer.context())), SelectInputs(first));

  const Json alone = PartitionJob(SmallJob().context());
  EXPECT_FALSE(alone["spec"].contains("completionMode"));
  EXPECT_EQ(VariableOf(alone, "ESPALIER_PARTITIONER_GROUP"), nullptr);
}

TEST(PartitionJobTest, HasAdminPortWithoutProbes) {
  for (const Job& job : {SmallJob(), FullJob()}) {
    const Json partitioners = PartitionJob(job.context());
    const Json& program = ProgramOf(partitioners);
    EXPECT_EQ(program["ports"], Json::array({{{"name", "admin"}, {"containerPort", kAdminPort}, {"protocol", "TCP"}}}));
    for (const char* const probe : {"startupProbe", "livenessProbe", "readinessProbe"}) {
      EXPECT_FALSE(program.contains(probe)) << probe;
    }
    EXPECT_TRUE(Selects(NetworkPolicy(job.context())["spec"]["podSelector"]["matchLabels"],
                        partitioners["spec"]["template"]["metadata"]["labels"]));
  }
  EXPECT_EQ(VariableOf(PartitionJob(SmallJob().context()), "ESPALIER_ADMIN_LISTEN"), "[::]:9090");
}

// Restarting or scaling the trainers must not restart servers and samplers.
TEST(InputsTest, OfServersAndSamplersIgnoreIncarnation) {
  const Job job = FullJob();
  Context next = job.context();
  next.status.incarnation = 2;
  next.status.trainer_replicas = 1;
  EXPECT_EQ(ServerSet(next, 0, false), ServerSet(job.context(), 0, false));
  EXPECT_EQ(SamplerSet(next, false), SamplerSet(job.context(), false));
  EXPECT_EQ(ConfigMap(next), ConfigMap(job.context()));
  EXPECT_NE(SelectInputs(TrainerJob(next)), SelectInputs(TrainerJob(job.context())));
  EXPECT_EQ(TrainerJob(next)["spec"]["completions"], 1);
  EXPECT_EQ(TrainerConfigMap(next)["metadata"]["name"], "cora-config-2");
}

TEST(ServerSetTest, ServersGetPluginFlags) {
  EXPECT_EQ(VariableOf(ServerSet(SmallJob().context(), 0, false), "ESPALIER_PLUGINS"), nullptr);
  const Json plugins = Json::array(
      {{{"name", "degrees"}, {"path", "/opt/degrees.so"}}, {{"name", "other"}, {"path", "/opt/$(HOME)/other.so"}}});
  const Json set = ServerSet(JobWith({{"servers", {{"plugins", plugins}}}}).context(), 0, false);
  // The kubelet replaces $$ by $.
  EXPECT_EQ(VariableOf(set, "ESPALIER_PLUGINS"), "degrees=/opt/degrees.so,other=/opt/$$(HOME)/other.so");
}

TEST(InputsTest, ChangeWithMutableFields) {
  const auto servers = [](const Json& fields) {
    return SelectInputs(ServerSet(JobWith({{"servers", fields}}).context(), 0, false));
  };
  const std::vector<std::string> all = {
      servers(Json::object()),
      servers({{"image", "other:2"}}),
      servers({{"resources", {{"limits", {{"cpu", "1"}}}}}}),
      servers({{"env", Json::array({{{"name", "A"}, {"value", "1"}}})}}),
      servers({{"nodeSelector", {{"a", "b"}}}}),
      servers({{"tolerations", Json::array({{{"key", "a"}}})}}),
      servers({{"serviceAccountName", "a"}}),
      servers({{"template", {{"spec", {{"priorityClassName", "a"}}}}}}),
      servers({{"cacheMedium", "Memory"}}),
      servers({{"plugins", Json::array({{{"name", "a"}, {"path", "/opt/a.so"}}})}}),
      servers({{"plugins", Json::array({{{"name", "a"}, {"path", "/opt/b.so"}}})}}),
  };
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
}

TEST(InputsTest, DoNotChangeWithRunPolicyAndOtherRoles) {
  const Json before = ServerSet(SmallJob().context(), 0, false);
  const Json after = ServerSet(
      JobWith({{"runPolicy", {{"suspend", true}}}, {"trainers", {{"replicas", 4}, {"image", "other:2"}}}}).context(), 0,
      false);
  EXPECT_EQ(before, after);
}

TEST(PlacesTest, OutputsHaveUidAndPartitionsAreShared) {
  const Job job = SmallJob();
  EXPECT_EQ(RunPrefix(job.training), "s3://results/cora/cora-6f1c9c1e");
  EXPECT_EQ(PartitionsPrefix(job.training), "s3://results/cora/partitions");
  EXPECT_EQ(PartitionsPrefix(FullJob().training), "s3://partitions/cora");
  const Job with_slash = JobWith({{"output", {{"uri", "s3://results/"}}}});
  EXPECT_EQ(RunPrefix(with_slash.training), "s3://results/cora-6f1c9c1e");
  EXPECT_EQ(PartitionsPrefix(with_slash.training), "s3://results/partitions");
}

}  // namespace
}  // namespace espalier::ctl::resources

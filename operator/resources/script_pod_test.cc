// Tests the pods of a job whose program is a script: the init container that fetches it, and its folder in the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "operator/resources/testing/jobs.h"

namespace espalier::ctl::resources {
namespace {

using kube::Json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using testing::Job;
using testing::JobWith;
using ::testing::Not;

const std::string kDigest(64, 'a');

Job ScriptJob(const Json& script, const Json& trainers = Json::object()) {
  Json spec = {{"training", nullptr},
               {"storage", {{"s3", {{"endpoint", "https://s3.example.com"}, {"credentials", {{"secretName", "s3"}}}}}}},
               {"trainers", {{"image", "registry.example.com/python:3"}, {"program", {{"args", {"--rate", "$(X)"}}}}}}};
  spec["trainers"].merge_patch(trainers);
  spec["trainers"]["program"]["script"] = script;
  Job job = JobWith(spec);
  job.status.images["script"] = "espalier/core:0.1.0";
  return job;
}
Job ScriptJob() { return ScriptJob({{"uri", "s3://code/train.py"}}); }

const Json& PodSpecOf(const Json& job) { return job["spec"]["template"]["spec"]; }
const Json& FetcherOf(const Json& job) { return PodSpecOf(job)["initContainers"].at(0); }
std::vector<std::string> ArgumentsOf(const Json& container) {
  return container["args"].get<std::vector<std::string>>();
}

Json VolumeNamed(const Json& job, const std::string& name) {
  for (const Json& volume : PodSpecOf(job)["volumes"]) {
    if (volume["name"] == name) return volume;
  }
  return nullptr;
}
Json MountNamed(const Json& container, const std::string& name) {
  for (const Json& mount : container["volumeMounts"]) {
    if (mount["name"] == name) return mount;
  }
  return nullptr;
}
Json VariableNamed(const Json& container, const std::string& name) {
  for (const Json& variable : container["env"]) {
    if (variable["name"] == name) return variable;
  }
  return nullptr;
}

TEST(ScriptPodTest, RunsInPythonFromReadOnlyFolder) {
  const Job job = ScriptJob();
  const Json trainers = TrainerJob(job.context());
  const Json& program = PodSpecOf(trainers)["containers"][0];
  EXPECT_EQ(program["command"], Json::array({"python3", "/etc/espalier/script/train.py"}));
  EXPECT_EQ(program["args"], Json::array({"--rate", "$$(X)"}));
  EXPECT_EQ(program["image"], "registry.example.com/python:3");
  EXPECT_EQ(MountNamed(program, "script"),
            Json({{"name", "script"}, {"mountPath", "/etc/espalier/script"}, {"readOnly", true}}));
  EXPECT_EQ(VolumeNamed(trainers, "script"), Json({{"name", "script"}, {"emptyDir", Json::object()}}));
}

TEST(ScriptPodTest, CommandGetsScriptAsArgument) {
  const Job job = ScriptJob({{"uri", "s3://code/jobs.tgz"}, {"entrypoint", "src/train.py"}},
                            {{"program", {{"command", {"python3", "-m", "espalier"}}}}});
  const Json trainers = TrainerJob(job.context());
  EXPECT_EQ(PodSpecOf(trainers)["containers"][0]["command"],
            Json::array({"python3", "-m", "espalier", "/etc/espalier/script/src/train.py"}));
  EXPECT_THAT(ArgumentsOf(FetcherOf(trainers)), IsSupersetOf({"--entrypoint", "src/train.py"}));
}

TEST(ScriptPodTest, TrainersRequireDigestOfPartitioner) {
  Job job = ScriptJob();
  EXPECT_THAT(ArgumentsOf(FetcherOf(PartitionJob(job.context()))),
              ElementsAre("fetch-script", "s3://code/train.py", "--folder", "/etc/espalier/script", "--shown-as",
                          "s3://code/train.py"));
  EXPECT_EQ(MountNamed(PodSpecOf(PartitionJob(job.context()))["containers"][0], "script"), nullptr);
  job.status.script = api::ScriptStatus{.source = "s3://code/train.py", .sha256 = kDigest};
  for (const int64_t incarnation : {1, 2}) {
    job.status.incarnation = incarnation;
    EXPECT_THAT(ArgumentsOf(FetcherOf(TrainerJob(job.context()))), IsSupersetOf({"--sha256", kDigest.c_str()}));
  }
  EXPECT_THAT(ArgumentsOf(FetcherOf(PartitionJob(job.context()))), IsSupersetOf({"--sha256", kDigest.c_str()}));
}

TEST(ScriptPodTest, OperatorImageFetchesWithJobCredentials) {
  const Job job = ScriptJob();
  for (const Json& child : {PartitionJob(job.context()), TrainerJob(job.context())}) {
    const Json& fetcher = FetcherOf(child);
    EXPECT_EQ(fetcher["name"], "script");
    EXPECT_EQ(fetcher["image"], "espalier/core:0.1.0");
    EXPECT_EQ(fetcher["command"], Json::array({"espalier"}));
    EXPECT_EQ(VariableNamed(fetcher, "AWS_ENDPOINT_URL_S3")["value"], "https://s3.example.com");
    EXPECT_EQ(VariableNamed(fetcher, "AWS_SECRET_ACCESS_KEY")["valueFrom"]["secretKeyRef"]["name"], "s3");
    EXPECT_EQ(VariableNamed(fetcher, "ESPALIER_TERMINATION_LOG")["value"], fetcher["terminationMessagePath"]);
    EXPECT_EQ(fetcher["securityContext"], PodSpecOf(child)["containers"][0]["securityContext"]);
    EXPECT_EQ(MountNamed(fetcher, "script"), Json({{"name", "script"}, {"mountPath", "/etc/espalier/script"}}));
    EXPECT_EQ(MountNamed(fetcher, "tls"), nullptr);  // the certificate is for the program only
  }
}

TEST(ScriptPodTest, MountsKeyOfConfigMap) {
  const Job job = ScriptJob({{"configMapKeyRef", {{"name", "code"}, {"key", "train.py"}}}});
  const Json trainers = TrainerJob(job.context());
  EXPECT_EQ(VolumeNamed(trainers, "script-source")["configMap"],
            Json({{"name", "code"}, {"items", Json::array({{{"key", "train.py"}, {"path", "train.py"}}})}}));
  const Json& fetcher = FetcherOf(trainers);
  EXPECT_EQ(MountNamed(fetcher, "script-source")["mountPath"], "/etc/espalier/script-source");
  EXPECT_THAT(ArgumentsOf(fetcher),
              IsSupersetOf({"/etc/espalier/script-source/train.py", "ConfigMap code, key train.py"}));
  EXPECT_EQ(MountNamed(PodSpecOf(trainers)["containers"][0], "script-source"), nullptr);
  EXPECT_EQ(PodSpecOf(trainers)["containers"][0]["command"][1], "/etc/espalier/script/train.py");
}

// The init container needs the operator's defaults for programs too, for example a company's CA certificate.
TEST(ScriptPodTest, FetcherHasDefaultsButNotVariablesOfDocument) {
  const Job job = ScriptJob({{"uri", "s3://code/train.py"}},
                            {{"env", Json::array({{{"name", "AWS_ENDPOINT_URL_S3"}, {"value", "https://other"}},
                                                  {{"name", "LD_PRELOAD"}, {"value", "/mnt/x.so"}}})}});
  const Result<JobDefaults> defaults = ParseJobDefaults(
      {{"template",
        {{"spec",
          {{"volumes", Json::array({{{"name", "ca"}, {"configMap", {{"name", "ca"}}}}})},
           {"containers",
            Json::array({{{"name", "program"},
                          {"env", Json::array({{{"name", "AWS_CA_BUNDLE"}, {"value", "/ca/ca.crt"}}})},
                          {"volumeMounts", Json::array({{{"name", "ca"}, {"mountPath", "/ca"}}})}}})}}}}}});
  ASSERT_TRUE(defaults.ok()) << defaults.status().ToString();
  Context context = job.context();
  context.defaults = &*defaults;
  const Json trainers = TrainerJob(context);
  const Json& fetcher = FetcherOf(trainers);
  EXPECT_EQ(VariableNamed(fetcher, "AWS_CA_BUNDLE")["value"], "/ca/ca.crt");
  EXPECT_EQ(MountNamed(fetcher, "ca")["mountPath"], "/ca");
  EXPECT_EQ(VariableNamed(fetcher, "AWS_ENDPOINT_URL_S3")["value"], "https://s3.example.com");
  EXPECT_EQ(VariableNamed(fetcher, "LD_PRELOAD"), nullptr);
}

TEST(ScriptPodTest, TemplateDoesNotChangeFetcher) {
  const Json fetcher_of_template = {{"name", "script"},
                                    {"image", "other"},
                                    {"command", Json::array({"sh"})},
                                    {"args", Json::array({"-c", "true"})},
                                    {"restartPolicy", "Always"},
                                    {"env", Json::array({{{"name", "AWS_ENDPOINT_URL_S3"}, {"value", "https://other"}},
                                                         {{"name", "AWS_CA_BUNDLE"}, {"value", "/mnt/ca.crt"}}})}};
  const Job job = ScriptJob(
      {{"uri", "s3://code/train.py"}},
      {{"resources", {{"limits", {{"memory", "1Gi"}}}}},
       {"template",
        {{"spec", {{"initContainers", Json::array({{{"name", "first"}, {"image", "i"}}, fetcher_of_template})}}}}}});
  const Json trainers = TrainerJob(job.context());
  const Json& fetcher = FetcherOf(trainers);
  EXPECT_EQ(fetcher["image"], "espalier/core:0.1.0");
  EXPECT_EQ(fetcher["command"], Json::array({"espalier"}));
  EXPECT_THAT(ArgumentsOf(fetcher), Contains("fetch-script"));
  EXPECT_FALSE(fetcher.contains("restartPolicy"));
  EXPECT_EQ(VariableNamed(fetcher, "AWS_ENDPOINT_URL_S3")["value"], "https://s3.example.com");
  EXPECT_EQ(VariableNamed(fetcher, "AWS_CA_BUNDLE")["value"], "/mnt/ca.crt");
  EXPECT_EQ(fetcher["resources"]["limits"]["memory"], "1Gi");  // a quota may require a limit
  EXPECT_EQ(PodSpecOf(trainers)["initContainers"].size(), 2u);
}

// The API server rejects such templates with their path.
TEST(ScriptPodTest, AcceptsTemplatesOfWrongTypes) {
  for (const Json& pod : {Json({{"initContainers", "none"}}), Json({{"initContainers", Json::array({3, "x"})}}),
                          Json({{"containers", "none"}}), Json({{"containers", Json::array()}})}) {
    const Job job = ScriptJob({{"uri", "s3://code/train.py"}},
                              {{"resources", {{"limits", {{"memory", "1Gi"}}}}}, {"template", {{"spec", pod}}}});
    EXPECT_TRUE(PodSpecOf(TrainerJob(job.context())).contains("initContainers")) << pod;
  }
}

TEST(ScriptPodTest, OtherJobsHaveNoFetcher) {
  const Job job = JobWith({{"trainers", {{"program", {{"command", {"my-program"}}}}}}});
  for (const Json& child : {PartitionJob(job.context()), TrainerJob(job.context())}) {
    EXPECT_FALSE(PodSpecOf(child).contains("initContainers"));
    EXPECT_EQ(VolumeNamed(child, "script"), nullptr);
  }
  EXPECT_EQ(PodSpecOf(TrainerJob(job.context()))["containers"][0]["command"], Json::array({"my-program"}));
}

}  // namespace
}  // namespace espalier::ctl::resources

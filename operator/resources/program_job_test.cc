// Tests the trainers' Job of a document with a program of the user.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "operator/resources/addresses.h"
#include "operator/resources/names.h"
#include "operator/resources/testing/jobs.h"
#include "services/job/parsing/parse.h"

namespace espalier::ctl::resources {
namespace {

using kube::Json;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::Job;
using testing::JobWith;
using ::testing::Not;

// Returns a job with a program and without spec.training; `trainers` is merged into spec.trainers.
Job UsersJob(const Json& trainers = Json::object()) {
  Json spec = {{"training", nullptr},
               {"graph", {{"partitions", {{"count", 2}}}}},
               {"trainers",
                {{"replicas", 3},
                 {"threads", 2},
                 {"image", "registry.example.com/mine:1"},
                 {"program", {{"command", {"my-program", "$(HOME)"}}, {"args", {"--rate", "0.1", "--rate"}}}}}}};
  spec["trainers"].merge_patch(trainers);
  return JobWith(spec);
}

const Json& UsersPod(const Json& job) { return job["spec"]["template"]["spec"]; }
const Json& UsersContainer(const Json& job) { return UsersPod(job)["containers"][0]; }

// Returns the value or source of the variable, or null.
Json UsersVariable(const Json& job, const std::string& name) {
  for (const Json& variable : UsersContainer(job)["env"]) {
    if (variable["name"] == name) return variable.contains("value") ? variable["value"] : variable["valueFrom"];
  }
  return nullptr;
}

TEST(ProgramJobTest, RunsCommandInImageUnchanged) {
  const Job job = UsersJob();
  const Json trainers = TrainerJob(job.context());
  EXPECT_EQ(trainers["metadata"]["name"], "cora-trainer-1");
  EXPECT_EQ(trainers["spec"]["completions"], 3);
  EXPECT_EQ(trainers["spec"]["backoffLimit"], 0);
  EXPECT_EQ(UsersPod(trainers)["restartPolicy"], "Never");
  EXPECT_EQ(UsersPod(trainers)["terminationGracePeriodSeconds"], 300);
  const Json& container = UsersContainer(trainers);
  EXPECT_EQ(container["name"], "trainer");
  EXPECT_EQ(container["image"], "registry.example.com/mine:1");
  EXPECT_EQ(container["command"], Json::array({"my-program", "$$(HOME)"}));
  EXPECT_EQ(container["args"], Json::array({"--rate", "0.1", "--rate"}));

  const Job alone = JobWith({{"training", nullptr}, {"trainers", {{"program", {{"command", {"my-program"}}}}}}});
  EXPECT_FALSE(UsersContainer(TrainerJob(alone.context())).contains("args"));
}

// Checks the variables in the table of docs/programs.md.
TEST(ProgramJobTest, HasDocumentedEnvironment) {
  const Job job = UsersJob();
  const Context context = job.context();
  const Json trainers = TrainerJob(context);
  EXPECT_EQ(UsersVariable(trainers, "ESPALIER_SERVERS"), ServerAddresses(context));
  EXPECT_EQ(UsersVariable(trainers, "ESPALIER_JOB_NAME"), "cora");
  EXPECT_EQ(UsersVariable(trainers, "ESPALIER_PARTITION_KEY"), "0123abcd");
  EXPECT_EQ(UsersVariable(trainers, "ESPALIER_WORLD_SIZE"), "3");
  EXPECT_TRUE(UsersVariable(trainers, "ESPALIER_RANK").contains("fieldRef"));
  EXPECT_EQ(UsersVariable(trainers, "ESPALIER_INCARNATION"), "1");
  EXPECT_EQ(UsersVariable(trainers, "ESPALIER_RESUME"), "never");
  EXPECT_EQ(UsersVariable(trainers, "ESPALIER_OUTPUT"), RunPrefix(job.training));
  EXPECT_EQ(UsersVariable(trainers, "ESPALIER_JOB"), "/etc/espalier/job/job.json");
  EXPECT_EQ(UsersVariable(trainers, "ESPALIER_ACCESS"), "rpc");
  EXPECT_EQ(UsersVariable(trainers, "ESPALIER_LOCAL_ADDRESS")["fieldRef"]["fieldPath"], "status.podIP");
  EXPECT_EQ(UsersVariable(trainers, "RANK"), UsersVariable(trainers, "ESPALIER_RANK"));
  EXPECT_EQ(UsersVariable(trainers, "WORLD_SIZE"), "3");
  EXPECT_EQ(UsersVariable(trainers, "LOCAL_RANK"), "0");
  EXPECT_EQ(UsersVariable(trainers, "MASTER_ADDR"), Rank0Host(context));
  EXPECT_EQ(UsersVariable(trainers, "MASTER_PORT"), std::to_string(kTrainerPort));
  EXPECT_EQ(UsersVariable(trainers, "OMP_NUM_THREADS"), "2");
  EXPECT_EQ(UsersVariable(trainers, "MKL_NUM_THREADS"), "2");
  EXPECT_EQ(UsersVariable(trainers, "ESPALIER_TERMINATION_LOG"), UsersContainer(trainers)["terminationMessagePath"]);
  EXPECT_EQ(UsersVariable(trainers, "ESPALIER_SAMPLERS"), nullptr);
  // Variables of Espalier's trainer only.
  for (const char* const name : {"ESPALIER_RENDEZVOUS", "ESPALIER_RING_LISTEN", "ESPALIER_CHECKPOINTS"}) {
    EXPECT_EQ(UsersVariable(trainers, name), nullptr) << name;
  }
}

TEST(ProgramJobTest, LaterIncarnationsResume) {
  Job job = UsersJob();
  job.status.incarnation = 2;
  const Json trainers = TrainerJob(job.context());
  EXPECT_EQ(UsersVariable(trainers, "ESPALIER_INCARNATION"), "2");
  EXPECT_EQ(UsersVariable(trainers, "ESPALIER_RESUME"), "auto");
}

TEST(ProgramJobTest, HasTrainerCertificateAndNoProbes) {
  const Job job = UsersJob();
  const Json trainers = TrainerJob(job.context());
  EXPECT_EQ(UsersVariable(trainers, "ESPALIER_TLS_KEY"), "/etc/espalier/tls/tls.key");
  EXPECT_EQ(UsersVariable(trainers, "ESPALIER_TLS_JOB"), "ml/" + job.training.meta.uid);
  bool has_secret = false;
  for (const Json& volume : UsersPod(trainers)["volumes"]) {
    if (!volume.contains("secret")) continue;
    has_secret = true;
    EXPECT_EQ(volume["secret"]["secretName"], TlsSecretName("cora", api::Role::kTrainer));
  }
  EXPECT_TRUE(has_secret);
  for (const char* const field : {"ports", "startupProbe", "livenessProbe", "readinessProbe"}) {
    EXPECT_FALSE(UsersContainer(trainers).contains(field)) << field;
  }

  const Job clear = JobWith({{"tls", {{"mode", "Disabled"}}}, {"trainers", {{"program", {{"command", {"p"}}}}}}});
  EXPECT_EQ(UsersVariable(TrainerJob(clear.context()), "ESPALIER_INSECURE_LISTEN_ANY"), "true");
  EXPECT_EQ(UsersVariable(TrainerJob(clear.context()), "ESPALIER_TLS_KEY"), nullptr);
}

// The ranks of a program listen on free ports, also with TLS.
TEST(ProgramJobTest, ItsPodsReachEachOtherOnAnyPort) {
  const Json ingress = NetworkPolicy(UsersJob().context())["spec"]["ingress"];
  EXPECT_FALSE(ingress[0].contains("ports"));
  EXPECT_TRUE(ingress[0]["from"][0].contains("podSelector"));
  EXPECT_TRUE(ingress[1].contains("ports"));
}

TEST(ProgramJobTest, TemplateDoesNotReplaceCommand) {
  const Job job = UsersJob(
      {{"template",
        {{"spec",
          {{"containers", Json::array({{{"name", "trainer"},
                                        {"command", Json::array({"other"})},
                                        {"env", Json::array({{{"name", "ESPALIER_RESUME"}, {"value", "auto"}}})},
                                        {"workingDir", "/opt/mine"}}})}}}}}});
  const Json trainers = TrainerJob(job.context());
  EXPECT_EQ(UsersContainer(trainers)["command"][0], "my-program");
  EXPECT_EQ(UsersVariable(trainers, "ESPALIER_RESUME"), "never");
  EXPECT_EQ(UsersContainer(trainers)["workingDir"], "/opt/mine");
}

TEST(ProgramJobTest, JobDocumentHasCommand) {
  const Job job = UsersJob();
  const std::string text = TrainerConfigMap(job.context())["data"]["job.json"];
  const Result<job::ParsedJob> parsed =
      job::ParseJob("job.json", text, {}, job::ReadBy::kRunOrRole, job::SpecTraining::kUnlessProgram);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_FALSE(parsed->training.has_training);
  EXPECT_EQ(parsed->training.trainer_replicas, 3u);
  ASSERT_TRUE(parsed->training.program.has_value());
  EXPECT_EQ(parsed->training.program->Words(), job.training.spec->job.program->Words());
  // The document for the partitioner has no program and may lack spec.training.
  const std::string shared = ConfigMap(job.context())["data"]["job.json"];
  EXPECT_THAT(shared, Not(HasSubstr("my-program")));
  EXPECT_TRUE(job::ParseJob("job.json", shared, {}, job::ReadBy::kRunOrRole, job::SpecTraining::kOptional).ok());
}

// With a program, spec.training may refer to parts that the graph lacks.
TEST(ProgramJobTest, PartitionerHasFlagForProgram) {
  const auto arguments = [](const Job& job) {
    return UsersContainer(PartitionJob(job.context()))["args"].get<std::vector<std::string>>();
  };
  EXPECT_THAT(arguments(UsersJob()), Contains("--trained-by-program"));
  EXPECT_THAT(arguments(JobWith(Json::object())), Not(Contains("--trained-by-program")));
}

}  // namespace
}  // namespace espalier::ctl::resources

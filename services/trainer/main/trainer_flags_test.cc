#include "services/trainer/main/trainer_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::trainer {
namespace {

using testing::HasSubstr;

// Returns the flags of a trainer that uses one graph server.
TrainerFlags Served() {
  TrainerFlags flags;
  flags.servers = {"127.0.0.1:7000"};
  return flags;
}

TEST(TrainerFlagsTest, GraphIsRemoteOrLocal) {
  TrainerFlags flags;
  EXPECT_THAT(CheckTrainerFlags(flags).message(), HasSubstr("--servers and --partitions are not given"));
  flags.partitions_uri = "parts/KEY";
  EXPECT_TRUE(CheckTrainerFlags(flags).ok());
  flags.samplers = {"127.0.0.1:7100"};
  EXPECT_THAT(CheckTrainerFlags(flags).message(), HasSubstr("leave out --samplers"));
  flags.world_size = 2;
  EXPECT_THAT(CheckTrainerFlags(flags).message(), HasSubstr("leave out --world-size"));
  flags.servers = {"127.0.0.1:7000"};
  EXPECT_THAT(CheckTrainerFlags(flags).message(), HasSubstr("are both given"));
}

TEST(TrainerFlagsTest, FindsContradictoryFlags) {
  TrainerFlags flags = Served();
  EXPECT_TRUE(CheckTrainerFlags(flags).ok());
  flags.rank = 1;
  EXPECT_THAT(CheckTrainerFlags(flags).message(), HasSubstr("below --world-size 1"));
  flags.world_size = 2;
  EXPECT_THAT(CheckTrainerFlags(flags).message(), HasSubstr("the port that rank 0 listens on"));
  flags.rendezvous = "127.0.0.1:7000";
  EXPECT_TRUE(CheckTrainerFlags(flags).ok());
  flags.data_timeout_seconds = flags.collective_timeout_seconds;
  EXPECT_THAT(CheckTrainerFlags(flags).message(), HasSubstr("must exceed"));
}

TEST(TrainerFlagsTest, RanksOfAPodAreConsecutive) {
  TrainerFlags flags = Served();
  flags.world_size = 12;
  flags.rendezvous = "127.0.0.1:7000";
  flags.rank = 5;
  SetRankInPod(&flags);
  EXPECT_EQ(flags.rank, 5u) << "one trainer per pod has the rank that is given";
  flags.trainers_per_pod = 4;
  flags.pod_index = 2;
  flags.trainer_in_pod = 3;
  SetRankInPod(&flags);
  EXPECT_EQ(flags.rank, 11u);
  EXPECT_TRUE(CheckTrainerFlags(flags).ok());
  flags.pod_index = 3;
  SetRankInPod(&flags);
  EXPECT_THAT(CheckTrainerFlags(flags).message(), HasSubstr("--rank 15: expected a number below --world-size 12"));
  flags.trainer_in_pod = 4;
  EXPECT_THAT(CheckTrainerFlags(flags).message(),
              HasSubstr("--trainer-in-pod 4: expected a number below --trainers-per-pod 4"));
}

TEST(TrainerFlagsTest, SharedRowsAreInOneMemory) {
  TrainerFlags flags = Served();
  flags.shared_row_file = "/dev/shm/rows";
  EXPECT_TRUE(CheckTrainerFlags(flags).ok());
  flags.shared_row_memory = 3;
  EXPECT_EQ(CheckTrainerFlags(flags).message(),
            "--shared-row-memory and --shared-row-file are both given: expected at most one of them");
}

TEST(TrainerFlagsTest, FindsInvalidAdminAddress) {
  TrainerFlags flags = Served();
  flags.admin_listen = "9090";
  EXPECT_THAT(CheckTrainerFlags(flags).message(), HasSubstr("--admin-listen: address '9090': expected host:port"));
}

TEST(TrainerFlagsTest, PlaintextAcrossHostsNeedsFlag) {
  TrainerFlags flags = Served();
  flags.world_size = 2;
  flags.rendezvous = "10.0.0.7:7000";
  EXPECT_EQ(CheckTrainerFlags(flags).code(), StatusCode::kFailedPrecondition);
  flags.insecure_listen_any = true;
  EXPECT_TRUE(CheckTrainerFlags(flags).ok());
  flags.insecure_listen_any = false;
  flags.tls = {"ca.crt", "tls.crt", "tls.key", "default/0a1b"};
  EXPECT_TRUE(CheckTrainerFlags(flags).ok());
}

TEST(TrainerFlagsTest, NamesReplacementOfGloo) {
  const auto error_of = [](const std::string& value) -> std::string {
    CLI::App app;
    TrainerFlags flags;
    AddTrainerFlags(app, &flags);
    try {
      app.parse("--job job.yaml --collective " + value);
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of("ring"), "");
  EXPECT_EQ(error_of("auto"), "");
  EXPECT_EQ(error_of("gloo"),
            "--collective: Gloo is no longer supported: omit --collective (ESPALIER_COLLECTIVE), so that trainers use "
            "NCCL if they have different GPUs of one host, else the ring");
  EXPECT_EQ(error_of("nccl"), "");
  EXPECT_THAT(error_of("mpi"), HasSubstr("expected auto, ring or nccl, found mpi"));
}

TEST(TrainerFlagsTest, SplitsLists) {
  CLI::App app;
  TrainerFlags flags;
  AddTrainerFlags(app, &flags);
  app.parse("--job j.yaml --servers a:1,b:2 --samplers c:3");
  EXPECT_EQ(flags.servers, (std::vector<std::string>{"a:1", "b:2"}));
  EXPECT_EQ(flags.samplers, (std::vector<std::string>{"c:3"}));
}

TEST(TrainerFlagsTest, NamesMissingDocument) {
  const Status status = job::ReadJob(testing::TempDir() + "/no-such-job.yaml").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("no-such-job.yaml"));
}

}  // namespace
}  // namespace espalier::trainer

// Compares every child of two jobs, and the differing children of a third, with testdata/<job>/<child>.json. job.json
// of ConfigMaps is stored there as a JSON tree. After an intended change, update the files and review the difference:
//
//   ESPALIER_UPDATE_GOLDENS=1 build/release/bin/espalier_ctl_resources_test --gtest_filter='*Golden*'
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "operator/resources/testing/jobs.h"

namespace espalier::ctl::resources {
namespace {

using kube::Json;

struct Golden {
  const char* job;
  const char* child;
  Json (*build)(const Context&);
};

Json MakeServers(const Context& context) { return ServerSet(context, 0, /*scaled_to_zero=*/false); }
Json SamplersOf(const Context& context) { return SamplerSet(context, /*scaled_to_zero=*/false); }

std::vector<Golden> Goldens() {
  std::vector<Golden> goldens;
  for (const char* const job : {"small", "full"}) {
    for (const auto& [child, build] : std::initializer_list<std::pair<const char*, Json (*)(const Context&)>>{
             {"service", Service},
             {"service_account", ServiceAccount},
             {"config_map", ConfigMap},
             {"trainer_config_map", TrainerConfigMap},
             {"network_policy", NetworkPolicy},
             {"disruption_budget", DisruptionBudget},
             {"partition_job", PartitionJob},
             {"server_set", MakeServers},
             {"sampler_set", SamplersOf},
             {"trainer_job", TrainerJob}}) {
      const bool has_samplers = std::string(job) == "full";
      if (has_samplers || std::string(child) != "sampler_set") goldens.push_back({job, child, build});
    }
  }
  goldens.push_back({"containers", "service", Service});
  goldens.push_back({"containers", "network_policy", NetworkPolicy});
  goldens.push_back({"containers", "server_set", MakeServers});
  goldens.push_back({"containers", "trainer_job", TrainerJob});
  return goldens;
}

testing::Job JobNamed(const std::string& name) {
  if (name == "containers") return testing::TwoContainersJob();
  return name == "full" ? testing::FullJob() : testing::SmallJob();
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string Shown(Json child) {
  if (kube::StringAt(child, {"kind"}) == "ConfigMap") {
    Json& document = child["data"]["job.json"];
    document = *kube::ParseJson(document.get<std::string>());
  }
  return child.dump(2) + "\n";
}

class ChildGoldenTest : public ::testing::TestWithParam<Golden> {};

TEST_P(ChildGoldenTest, MatchesGoldenFile) {
  const Golden& golden = GetParam();
  const testing::Job job = JobNamed(golden.job);
  const std::filesystem::path path =
      std::filesystem::path(ESPALIER_RESOURCES_TESTDATA) / golden.job / (std::string(golden.child) + ".json");

  const std::string built = Shown(golden.build(job.context()));

  if (std::getenv("ESPALIER_UPDATE_GOLDENS") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << built;
  }
  EXPECT_EQ(built, ReadFile(path)) << path;
}

INSTANTIATE_TEST_SUITE_P(Children, ChildGoldenTest, ::testing::ValuesIn(Goldens()),
                         [](const auto& test) { return std::string(test.param.job) + "_" + test.param.child; });

}  // namespace
}  // namespace espalier::ctl::resources

// Tests the binary `espalier`: its output, files and exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "services/cli/testing/cli_fixture.h"

namespace espalier::cli {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST_F(CliTest, RefusesFlagsWithoutEffect) { EXPECT_EQ(Espalier("inspect nowhere --quiet").code, 64); }

TEST_F(CliTest, HelpIsSuccessAndUsageErrorsAre64) {
  EXPECT_THAT(Espalier("--help").output, HasSubstr("espalier generate --nodes"));
  EXPECT_EQ(Espalier("--help").code, 0);
  for (const char* command : {"generate", "import", "partition", "inspect", "verify", "run"}) {
    const Ended help = Espalier(std::string(command) + " --help");
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.output, HasSubstr("Examples:\n  espalier " + std::string(command))) << command;
  }
  EXPECT_EQ(Espalier("").code, 64);
  for (const char* words : {"partitoin graph --count 2", "checkpoint lss out"}) {
    const Ended unknown = Espalier(words);
    EXPECT_EQ(unknown.code, 64) << words;
    EXPECT_THAT(unknown.error, AllOf(StartsWith("espalier: there is no command '"), HasSubstr("(did you mean '"),
                                     HasSubstr(" --help` lists the commands")));
    EXPECT_THAT(unknown.output, IsEmpty());
  }
  EXPECT_EQ(Espalier("generate").code, 64);
  EXPECT_EQ(Espalier("generate -o g --nodes many").code, 64);
  EXPECT_EQ(Espalier("generate -o g --nodes 100 --communities 1000").code, 64);
  EXPECT_EQ(Espalier("partition graph --format NPY -o p --algorithm External").code, 64);
}

TEST_F(CliTest, GeneratesTheSameGraphFromTheSameSeed) {
  const std::string options = "generate --json --nodes 300 --edges 2000 --features 4 --threads ";
  const Ended one = Espalier(options + "1 --seed 7 -o one");
  const Ended two = Espalier(options + "3 --seed 7 -o two");

  ASSERT_EQ(one.code, 0) << one.error;
  const auto summary = nlohmann::json::parse(one.output);
  EXPECT_EQ(summary["nodes"]["node"]["count"], 300);
  EXPECT_EQ(summary["nodes"]["node"]["columns"]["node-feat"]["rowShape"], nlohmann::json::array({4}));
  EXPECT_EQ(std::system(("diff -r '" + (root_ / "one").string() + "' '" + (root_ / "two").string() + "'").c_str()), 0);
}

TEST_F(CliTest, RefusesToOverwriteAFolder) {
  MakeGraph();
  const Ended again = Espalier("generate --nodes 10 --edges 20 -o graph");
  EXPECT_EQ(again.code, 65);
  EXPECT_THAT(again.error, HasSubstr("espalier: "));
}

TEST_F(CliTest, ImportsWithPreprocessing) {
  MakeGraph();
  const Ended imported = Espalier("import graph --format NPY --add-reverse-edges --json -q -o both");
  ASSERT_EQ(imported.code, 0) << imported.error;
  EXPECT_EQ(nlohmann::json::parse(imported.output)["edges"].begin().value()["count"], 4000);
  EXPECT_THAT(imported.error, IsEmpty());

  const Ended missing = Espalier("import ogbn-arxiv --format OGB -o x");
  EXPECT_EQ(missing.code, 65);
  EXPECT_THAT(missing.error, AllOf(HasSubstr("no file or folder ogbn-arxiv"), HasSubstr("with raw/ in it"),
                                   HasSubstr("data sets are not downloaded by name")));
  EXPECT_FALSE(fs::exists(root_ / "x"));
}

TEST_F(CliTest, PartitionsFeaturesAsIntegersWithScales) {
  MakeGraph();
  const Ended refused = Espalier("import graph --format NPY --feature-dtype i8 -q -o both");
  EXPECT_EQ(refused.code, 65);
  EXPECT_THAT(refused.error,
              HasSubstr("--feature-dtype: I8 needs scales, which a folder of .npy arrays cannot hold: expected "
                        "Source, F32, F16 or BF16; give I8 when the graph is partitioned"));
  EXPECT_FALSE(fs::exists(root_ / "both"));

  ASSERT_EQ(Espalier("partition graph --format NPY -n 2 --algorithm Random --feature-dtype I8 -q -o parts").code, 0);
  EXPECT_THAT(Espalier("inspect parts").output, HasSubstr("node-feat I8 [4] with scales, node-label I64"));
  const auto described = nlohmann::json::parse(Espalier("inspect parts --json").output);
  EXPECT_EQ(described["formatVersion"], 2);
  const auto& scales = described["nodes"]["node"]["columns"]["node-feat"]["scales"];
  ASSERT_EQ(scales.size(), 4u);
  EXPECT_EQ(Espalier("verify parts --source graph --format NPY -q --feature-dtype I8").code, 0);
  EXPECT_EQ(Espalier("verify parts --source graph --format NPY -q").code, 65);

  ASSERT_EQ(Espalier("partition graph --format NPY -n 2 --algorithm Random -q -o whole").code, 0);
  const auto features = [&](const std::string& of) {
    const auto node = nlohmann::json::parse(Espalier("inspect " + of + " --json --node 7").output);
    return node["columns"]["node-feat"].get<std::vector<double>>();
  };
  const std::vector<double> whole = features("whole"), widened = features("parts");
  ASSERT_EQ(whole.size(), 4u);
  ASSERT_EQ(widened.size(), 4u);
  for (size_t j = 0; j < 4; ++j) EXPECT_NEAR(widened[j], whole[j], 0.500001 * scales[j].get<double>()) << j;
}

TEST_F(CliTest, ImportWarnsOfLikelyMistakes) {
  std::ofstream(root_ / "few.tsv") << "head\trelation\ttail\nalice\tknows\tbob \ncarol\tknows\tbob\n";
  const Ended imported = Espalier("import few.tsv --format Triples -o few");
  ASSERT_EQ(imported.code, 0) << imported.error;
  EXPECT_THAT(imported.output, AllOf(HasSubstr("  warning: 1 file begins with a line that looks like a header"),
                                     HasSubstr("  warning: 1 name begins or ends with a space")));
  const Ended as_json = Espalier("import few.tsv --format Triples --json -o again");
  const auto warnings = nlohmann::json::parse(as_json.output)["warnings"];
  ASSERT_EQ(warnings.size(), 2u) << as_json.output;
  EXPECT_THAT(warnings[1].get<std::string>(), AllOf(HasSubstr("'bob ' in "), HasSubstr("few.tsv:2)")));
  const Ended cut = Espalier("partition few.tsv --format Triples --json -n 1 -o parts");
  ASSERT_EQ(cut.code, 0) << cut.error;
  EXPECT_EQ(nlohmann::json::parse(cut.output)["warnings"], warnings);
}

// The graph of an OGB link data set is imported. Splits in files of torch.save are left out, and the output names them.
TEST_F(CliTest, ImportLeavesOutSplitsOfTorchSave) {
  fs::create_directories(root_ / "ogbl/raw");
  fs::create_directories(root_ / "ogbl/split/time");
  std::ofstream(root_ / "ogbl/raw/num-node-list.csv") << "3\n";
  std::ofstream(root_ / "ogbl/raw/num-edge-list.csv") << "2\n";
  std::ofstream(root_ / "ogbl/raw/edge.csv") << "\xEF\xBB\xBF"
                                                "0,1\r\n1,2\r\n";
  std::ofstream(root_ / "ogbl/split/time/train.pt") << "PK";
  const Ended imported = Espalier("import ogbl --format OGB -o graph");
  ASSERT_EQ(imported.code, 0) << imported.error;
  EXPECT_THAT(imported.output, AllOf(HasSubstr("edges node:edge:node: 2"), HasSubstr("split 'time' is omitted: "),
                                     HasSubstr("ogbl/split/time/train.pt is a file of torch.save")));
  const Ended other = Espalier("import ogbl --format NPY -o other");
  EXPECT_EQ(other.code, 65);
  EXPECT_THAT(other.error, HasSubstr("found raw/edge.csv: read it with the format OGB"));
}

TEST_F(CliTest, LabelsMayLackValuesAndOthersMayNot) {
  fs::create_directories(root_ / "ogb/raw");
  std::ofstream(root_ / "ogb/raw/num-node-list.csv") << "3\n";
  std::ofstream(root_ / "ogb/raw/num-edge-list.csv") << "1\n";
  std::ofstream(root_ / "ogb/raw/edge.csv") << "0,1\n";
  std::ofstream(root_ / "ogb/raw/node_score.csv") << "1\nNA\n0.5\n";
  const Ended refused = Espalier("import ogb --format OGB -o graph");
  EXPECT_EQ(refused.code, 65);
  EXPECT_THAT(refused.error, HasSubstr("node_score.csv:2, field 1 is 'NA': expected a number; only label columns may"));
  ASSERT_EQ(Espalier("import ogb --format OGB --label node_score -o graph").code, 0);
  EXPECT_EQ(Espalier("import graph --format NPY -o again").code, 65);
  const Ended cut = Espalier("partition graph --format NPY --label node_score --json -n 2 -o parts");
  ASSERT_EQ(cut.code, 0) << cut.error;
  const std::string uri = nlohmann::json::parse(cut.output)["uri"];
  const Ended verified = Espalier("verify " + uri + " --source graph --format NPY --label node_score");
  EXPECT_EQ(verified.code, 0) << verified.error;
}

TEST_F(CliTest, NamesTheSchemesThatExist) {
  for (const char* words :
       {"import gs://b/g --format NPY -o x", "inspect gs://b/g", "partition graph --format NPY -o gs://b/p"}) {
    const Ended refused = Espalier(words);
    EXPECT_NE(refused.code, 0) << words;
    EXPECT_THAT(refused.error, HasSubstr("no driver for gs://: expected a path, a file: URI or s3://bucket/prefix"))
        << words;
  }
}

TEST_F(CliTest, ImportReportsChangesOfEdges) {
  std::ofstream(root_ / "few.tsv") << "a\tr\tb\na\tr\tb\na\tr\ta\nb\tr\tc\n";
  const std::string flags = "--drop-self-loops --add-reverse-edges --drop-duplicate-edges -o ";
  const Ended imported = Espalier("import few.tsv --format triples " + flags + "clean");
  ASSERT_EQ(imported.code, 0) << imported.error;
  // The self loop a-a is dropped and three reverse edges are added. Then a-b and b-a each exist twice; one of each is
  // kept.
  EXPECT_THAT(imported.output,
              HasSubstr("edges changed: 1 self loop dropped, 3 reverse edges added, 2 duplicates dropped\n"));
  const Ended as_json = Espalier("import few.tsv --format TRIPLES --json " + flags + "again");
  ASSERT_EQ(as_json.code, 0) << as_json.error;
  const auto changes = nlohmann::json::parse(as_json.output)["edgeChanges"];
  EXPECT_EQ(changes["selfLoopsDropped"], 1);
  EXPECT_EQ(changes["reverseEdgesAdded"], 3);
  EXPECT_EQ(changes["duplicatesDropped"], 2);
  EXPECT_EQ(changes["heldOutDropped"], 0);
  EXPECT_THAT(Espalier("import clean --format NPY -o copy").output, Not(HasSubstr("edges changed")));
}

TEST_F(CliTest, PartitionsOnceAndInspects) {
  MakeGraph();
  const Ended cut =
      Espalier("partition graph --format NPY -n 2 --balance TrainNodes --json -o parts --export-mappings maps");
  ASSERT_EQ(cut.code, 0) << cut.error;
  const auto report = nlohmann::json::parse(cut.output);
  EXPECT_EQ(report["reused"], false);
  EXPECT_TRUE(fs::exists(root_ / "maps"));
  const Ended again = Espalier("partition graph --format NPY -n 2 --balance TrainNodes --json -o parts");
  EXPECT_EQ(nlohmann::json::parse(again.output)["reused"], true);

  const Ended inspected = Espalier("inspect parts --json");
  ASSERT_EQ(inspected.code, 0) << inspected.error;
  const auto book = nlohmann::json::parse(inspected.output);
  EXPECT_EQ(book["partitionKey"], report["partitionKey"]);
  EXPECT_EQ(book["nodes"]["node"]["first"].size(), 3u);
  EXPECT_EQ(book["nodes"]["node"]["first"][2], 300);
  EXPECT_THAT(Espalier("inspect parts").output, HasSubstr("nodes node: 300; node-feat F32 [4], node-label I64"));
}

// A graph with the shape of ogbn-products at one hundredth of its size. Original ids of edges are in separate files.
TEST_F(CliTest, ServedPartitionTakesFourAndAHalfBytesPerEdge) {
  constexpr uint64_t kNodes = 24'490, kEdges = 1'235'000;
  const Ended made = Espalier("generate -q --shape products --nodes 24490 --edges 1235000 --features 4 -o graph");
  ASSERT_EQ(made.code, 0) << made.error;
  ASSERT_EQ(Espalier("partition graph --format NPY -n 2 --algorithm Random -q -o parts").code, 0);

  uint64_t structure_bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root_ / "parts")) {
    const std::string name = entry.path().filename();
    if (name == "graph.safetensors" || name == "nodes.safetensors") structure_bytes += entry.file_size();
  }
  structure_bytes -= kNodes * (4 * sizeof(float) + sizeof(int64_t));  // features and labels
  EXPECT_GE(structure_bytes, 4 * kEdges);
  EXPECT_LE(static_cast<double>(structure_bytes) / kEdges, 4.5);

  const auto book = nlohmann::json::parse(Espalier("inspect parts --json").output);
  constexpr double kHeaderBytes = 4096;  // upper bound for the two column files
  EXPECT_NEAR(book["structureBytes"].get<double>(), static_cast<double>(structure_bytes), kHeaderBytes);
  EXPECT_NEAR(book["structureBytesPerEdge"].get<double>(), 4.4, 0.1);
  EXPECT_THAT(Espalier("inspect parts").output,
              testing::ContainsRegex("structure without the user's columns: [0-9]+ bytes, 4[.]4"));
}

TEST_F(CliTest, FindsANodeByItsOriginalId) {
  MakeGraph();
  ASSERT_EQ(Espalier("partition graph --format NPY -n 3 --algorithm Random -q -o parts").code, 0);
  const auto book = nlohmann::json::parse(Espalier("inspect parts --json").output);
  for (const int id : {0, 150, 299}) {
    const Ended found = Espalier("inspect parts --json --node " + std::to_string(id));
    ASSERT_EQ(found.code, 0) << found.error;
    const auto node = nlohmann::json::parse(found.output);
    const uint64_t first = book["nodes"]["node"]["first"][node["partition"].get<size_t>()];
    EXPECT_EQ(node["originalId"], id);
    EXPECT_EQ(node["globalId"], first + node["localId"].get<uint64_t>());
    EXPECT_EQ(node["columns"]["node-feat"].size(), 4u);
  }
  EXPECT_EQ(Espalier("inspect parts --node 300").code, 65);
  EXPECT_EQ(Espalier("inspect parts --node 0 --type nobody").code, 65);
}

TEST_F(CliTest, ShowsWholeRowOfNode) {
  ASSERT_EQ(Espalier("generate -q --nodes 20 --edges 40 --features 40 -o wide").code, 0);
  ASSERT_EQ(Espalier("partition wide --format NPY -n 2 --algorithm Random -q -o parts").code, 0);
  const auto node = nlohmann::json::parse(Espalier("inspect parts --json --node 3").output);
  EXPECT_EQ(node["columns"]["node-feat"].size(), 40u);
}

TEST_F(CliTest, InspectReportsContents) {
  EXPECT_EQ(Espalier("inspect nowhere").code, 65);
  MakeGraph();
  ASSERT_EQ(Espalier("partition graph --format NPY -n 2 -q -o parts").code, 0);
  ASSERT_EQ(Espalier("partition graph --format NPY -n 3 -q -o parts").code, 0);
  const Ended two = Espalier("inspect parts");
  EXPECT_EQ(two.code, 65);
  EXPECT_THAT(two.error, HasSubstr("holds 2 partitionings; name one of:"));
  fs::create_directory(root_ / "run");
  fs::rename(root_ / "parts", root_ / "run/partitions");
  const Ended unfinished = Espalier("inspect run");
  EXPECT_EQ(unfinished.code, 65);
  EXPECT_THAT(unfinished.error,
              HasSubstr("run contains no outputs of a successful run; partitions are in run/partitions"));
}

// A copy of a bucket made by another tool may contain the manifests of single kinds of output, but not that of all
// outputs.
TEST_F(CliTest, FoldersOfOutputsAreNoPartitionings) {
  for (const char* kind : {"embeddings", "predictions"}) {
    fs::create_directories(root_ / "copied" / kind);
    std::ofstream(root_ / "copied" / kind / "manifest.json") << R"({"format": "espalier.node-results"})";
  }
  for (const char* command : {"inspect copied", "verify copied"}) {
    const Ended ended = Espalier(command);
    EXPECT_EQ(ended.code, 65) << command;
    EXPECT_THAT(
        ended.error,
        HasSubstr("copied contains no partitioning: neither it nor a folder in it has a partitioning's manifest.json"))
        << command;
  }
  // A partitioning next to them is found, and a damaged one is not ignored.
  MakeGraph();
  ASSERT_EQ(Espalier("partition graph --format NPY -n 2 -q -o copied").code, 0);
  EXPECT_EQ(Espalier("inspect copied").code, 0);
  fs::create_directory(root_ / "copied/damaged");
  std::ofstream(root_ / "copied/damaged/manifest.json") << R"({"for)";
  EXPECT_THAT(Espalier("inspect copied").error, HasSubstr("holds 2 partitionings; name one of:"));
}

TEST_F(CliTest, VerifiesAndFindsAFlippedBit) {
  MakeGraph();
  ASSERT_EQ(Espalier("partition graph --format NPY -n 2 -q -o parts --add-reverse-edges").code, 0);
  const Ended good = Espalier("verify parts --json --source graph --format NPY --add-reverse-edges");
  ASSERT_EQ(good.code, 0) << good.error;
  EXPECT_EQ(nlohmann::json::parse(good.output)["comparedWithSource"], true);
  EXPECT_EQ(nlohmann::json::parse(good.output)["edges"], 4000);

  for (const auto& entry : fs::recursive_directory_iterator(root_ / "parts")) {
    if (entry.path().filename() != "graph.safetensors") continue;
    fs::permissions(entry.path(), fs::perms::owner_write, fs::perm_options::add);
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-5, std::ios::end);
    const auto byte = static_cast<char>(file.get() ^ 4);
    file.seekp(-5, std::ios::end);
    file.put(byte);
    break;
  }
  const Ended bad = Espalier("verify parts");
  EXPECT_EQ(bad.code, 65);
  EXPECT_THAT(bad.error, HasSubstr("graph.safetensors"));
  EXPECT_EQ(Espalier("verify parts --source graph").code, 64);
}

TEST_F(CliTest, RunReportsEveryErrorOfDocument) {
  std::ofstream(root_ / "job.yaml") << "apiVersion: espalier.io/v1alpha1\nkind: DistTraining\nspeck: {}\n";
  const Ended ended = Espalier("run -f job.yaml -o out");
  EXPECT_EQ(ended.code, 64);
  EXPECT_THAT(ended.error, AllOf(StartsWith("espalier: job.yaml:1:1: metadata: is missing"),
                                 HasSubstr("job.yaml:3:1: 'speck': unknown field (did you mean 'spec'?)")));
  EXPECT_FALSE(fs::exists(root_ / "out"));
}

TEST_F(CliTest, FailsIfOutputCannotBeWritten) {
  MakeGraph();
  const Ended ended = Espalier("import graph --format NPY -q --json -o copy >/dev/full");
  EXPECT_EQ(ended.code, 74);
  EXPECT_THAT(ended.error, HasSubstr("writing to standard output: No space left on device"));
}

TEST_F(CliTest, FailsIfReaderIsGone) {
  MakeGraph();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  constexpr int kInherited = 9;
  ASSERT_EQ(dup2(ends[1], kInherited), kInherited);
  const auto ignored = std::signal(SIGPIPE, SIG_DFL);  // as in a process started by a shell
  const Ended ended = Espalier("import graph --format NPY -q --json -o copy >&9");
  std::signal(SIGPIPE, ignored);
  close(kInherited);
  close(ends[1]);
  EXPECT_EQ(ended.code, 74);
  EXPECT_THAT(ended.error, HasSubstr("writing to standard output: Broken pipe"));
}

TEST_F(CliTest, ALabelIsNotNormalizedWithTheFeatures) {
  MakeGraph();
  std::string yaml = ReadText(root_ / "graph/graph.yaml");
  const std::string features = "      node-feat: nodes.node.node-feat.npy\n";
  ASSERT_THAT(yaml, HasSubstr(features));
  yaml.insert(yaml.find(features), "      target: nodes.node.node-feat.npy\n");
  std::ofstream(root_ / "graph/graph.yaml") << yaml;
  const std::string before = ReadText(root_ / "graph/nodes.node.node-feat.npy");

  ASSERT_EQ(Espalier("import graph --format NPY -q --normalize-features --label target -o told").code, 0);
  EXPECT_EQ(ReadText(root_ / "told/nodes.node.target.npy"), before);
  EXPECT_NE(ReadText(root_ / "told/nodes.node.node-feat.npy"), before);
  ASSERT_EQ(Espalier("import graph --format NPY -q --normalize-features -o untold").code, 0);
  EXPECT_NE(ReadText(root_ / "untold/nodes.node.target.npy"), before);

  const std::string cut =
      "partition graph --format NPY -q --algorithm Random --normalize-features --label target -o cut";
  ASSERT_EQ(Espalier(cut).code, 0);
  const std::string source = "verify cut --source graph --format NPY -q --normalize-features";
  EXPECT_EQ(Espalier(source + " --label target").code, 0);
  EXPECT_EQ(Espalier(source).code, 65);

  ASSERT_EQ(Espalier("import graph --format NPY -q --normalize-features --label target,node-feat -o both").code, 0);
  EXPECT_EQ(ReadText(root_ / "both/nodes.node.node-feat.npy"), before);
  for (const char* command :
       {"import graph -o none", "partition graph --algorithm Random --output none", "verify cut --source graph"}) {
    const Ended unknown =
        Espalier(command + std::string(" --format NPY -q --normalize-features --label target,tarket"));
    EXPECT_EQ(unknown.code, 65) << command;
    EXPECT_THAT(unknown.error,
                HasSubstr("--label: no node or edge type has a column 'tarket' (did you mean 'target'?); "
                          "there are: node-feat"));
  }
  EXPECT_FALSE(std::filesystem::exists(root_ / "none"));
}

TEST_F(CliTest, RefusesOptionsUnsupportedByAlgorithm) {
  MakeGraph();
  const auto refused = [&](const std::string& flags) {
    const Ended ended = Espalier("partition graph --format NPY -q -o cut " + flags);
    EXPECT_EQ(ended.code, 64) << flags;
    return ended.error;
  };
  EXPECT_THAT(refused("--memory 1GiB"),
              HasSubstr("--memory: memory limit: METIS and Multilevel hold the whole graph in memory"));
  EXPECT_THAT(refused("--algorithm Random --balance Edges"),
              HasSubstr("--balance: Random and External balance only nodes"));
  for (const char* algorithm : {"Streaming", "Multilevel"}) {
    EXPECT_THAT(refused("--objective CommunicationVolume --algorithm " + std::string(algorithm)),
                HasSubstr("--objective: only METIS"));
  }
  EXPECT_FALSE(fs::exists(root_ / "cut"));
}

TEST_F(CliTest, InspectShowsOutputsOfRun) {
  std::ofstream(root_ / "metrics.jsonl") << "{}\n";
  std::ofstream(root_ / "manifest.json") << R"({"format": "espalier.outputs", "format_version": 1, "incarnation": 2,
    "files": [{"key": "metrics.jsonl", "size_bytes": 3, "xxh3_64": ["0000000000000000"], "kind": "metrics"}],
    "not_written": {"embeddings": "a model of one layer has no hidden activations"},
    "result": {"testAccuracy": 0.8125, "validationAccuracy": 0.75, "bestEpoch": 3, "graph": "cora", "nodes": 2708,
               "edges": 10556, "partitions": 2}})";
  const Ended inspected = Espalier("inspect .");
  EXPECT_EQ(inspected.code, 0) << inspected.error;
  EXPECT_THAT(inspected.output, AllOf(HasSubstr("outputs of incarnation 2"), HasSubstr("metrics.jsonl"),
                                      HasSubstr("no embeddings: a model of one layer"), HasSubstr("bestEpoch: 3"),
                                      HasSubstr("\n  cora: 2708 nodes, 10556 edges, 2 partitions\n"),
                                      HasSubstr("\n  testAccuracy 0.8125, validationAccuracy 0.75\n")));
  for (const char* key : {"graph: ", "nodes: ", "testAccuracy: "}) {
    EXPECT_THAT(inspected.output, Not(HasSubstr(key))) << "said already";
  }
  EXPECT_EQ(nlohmann::json::parse(Espalier("inspect . --json").output)["files"][0]["kind"], "metrics");

  EXPECT_EQ(Espalier("verify . --source graph --format NPY").code, 64);
  const Ended verified = Espalier("verify .");
  EXPECT_EQ(verified.code, 65);
  EXPECT_THAT(verified.error, AllOf(HasSubstr("1 violation"), HasSubstr("metrics.jsonl"), HasSubstr("checksum")));
  std::ofstream(root_ / "manifest.json") << R"({"format": "espalier.outputs", "format_version": 9})";
  EXPECT_EQ(Espalier("verify .").code, 65);
}

TEST_F(CliTest, ArgumentsAfterTwoDashesBelongToProgram) {
  const Ended none = Espalier("run -f job.yaml -o out --");
  EXPECT_EQ(none.code, 64);
  EXPECT_THAT(none.error, HasSubstr("expected -- PROGRAM"));
  std::ofstream(root_ / "job.yaml") << R"({"apiVersion": "espalier.io/v1alpha1", "kind": "DistTraining",
    "metadata": {"name": "mine"}, "spec": {"graph": {"source": {"uri": "graph", "format": "NPY"}}}})";
  // Options after the program's name belong to the program, including --help.
  const Ended missing = Espalier("run -f job.yaml -o out -- ./no-program --help --output elsewhere");
  EXPECT_EQ(missing.code, 64);
  EXPECT_THAT(missing.error, AllOf(HasSubstr("the program "), HasSubstr("no-program")));
  EXPECT_THAT(Espalier("run -f job.yaml -- true").error, HasSubstr("--output is required"));
}

}  // namespace
}  // namespace espalier::cli

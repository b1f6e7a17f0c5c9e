#include "services/format/partition/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "services/format/testing/mutation.h"
#include "services/format/testing/tiny_graph.h"
#include "services/storage/memory_store.h"

namespace espalier::format {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

Manifest Tiny() {
  storage::MemoryStore store;
  return WriteTinyPartitioning(store, "");
}

TEST(ManifestTest, RoundTrips) {
  Manifest manifest = Tiny();
  manifest.seed = ~uint64_t{0};
  manifest.quality.cut_ratio = 0.1;
  manifest.quality.replication = 1.0 / 3.0;
  manifest.quality.balance["nodes:paper"] = 1e-300;
  manifest.partitions[0].graph.block_hashes[0] = ~uint64_t{0} - 1;
  manifest.source_columns = {"original_id", "mask"};
  manifest.node_columns[1].back().lacks_values = true;
  manifest.edge_columns[1].back().bad_weight = "row 2 is -2.5";
  manifest.edge_columns[1].back().is_all_zero = true;
  manifest.node_columns[1].back().bad_feature = "row 2, at index 1, is 1e+300";
  manifest.node_columns[1].back().bad_time = "row 0 is 9223372036854775808";
  ASSERT_FALSE(manifest.splits.empty());
  manifest.splits[0].labels["y"] = {
      .classes = {.wrong = "row 5 is 2.5"}, .flags = {.has_label = false}, .numbers = {.wrong = "row 1 is infinity"}};

  const Result<Manifest> back = ManifestFromJson(ManifestToJson(manifest));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->partition_key, manifest.partition_key);
  EXPECT_EQ(back->attempt, manifest.attempt);
  EXPECT_EQ(back->graph_name, manifest.graph_name);
  EXPECT_EQ(back->algorithm, manifest.algorithm);
  EXPECT_EQ(back->seed, manifest.seed);
  EXPECT_EQ(back->in_edge_order, manifest.in_edge_order);
  EXPECT_EQ(back->source_columns, manifest.source_columns);
  EXPECT_EQ(back->book, manifest.book);
  EXPECT_EQ(back->node_columns, manifest.node_columns);
  EXPECT_EQ(back->edge_columns, manifest.edge_columns);
  EXPECT_EQ(back->splits, manifest.splits);
  EXPECT_EQ(back->partitions, manifest.partitions);
  EXPECT_EQ(back->quality, manifest.quality);
  EXPECT_EQ(back->partition_seconds, manifest.partition_seconds);
  EXPECT_EQ(back->peak_memory_bytes, manifest.peak_memory_bytes);
}

TEST(ManifestTest, IsTheSameTextAfterReading) {
  const std::string text = ManifestToJson(Tiny());
  EXPECT_EQ(ManifestToJson(*ManifestFromJson(text)), text);
}

TEST(ManifestTest, ListsEveryFileOfAPartition) {
  storage::MemoryStore store;
  const Manifest manifest = WriteTinyPartitioning(store, "");
  std::map<std::string, uint64_t> listed;
  uint64_t listed_bytes = 0;
  for (const PartitionEntry& entry : manifest.partitions) {
    for (const FileEntry* file : entry.files()) listed[file->key] = file->size_bytes;
    listed_bytes += entry.size_bytes();
  }
  std::map<std::string, uint64_t> written;
  uint64_t written_bytes = 0;
  const Result<std::vector<storage::ObjectInfo>> objects = store.List("");
  ASSERT_TRUE(objects.ok());
  for (const storage::ObjectInfo& object : *objects) {
    if (object.key == "manifest.json") continue;
    written[object.key] = object.size_bytes;
    written_bytes += object.size_bytes;
  }
  EXPECT_EQ(listed, written);
  EXPECT_EQ(listed_bytes, written_bytes);
}

TEST(ManifestTest, ListsHeldOutEdges) {
  Manifest manifest = Tiny();
  for (const std::optional<HeldOut>& held_out :
       {std::optional<HeldOut>(), std::optional<HeldOut>(HeldOut{}), std::optional<HeldOut>(HeldOut{.reverse = 1})}) {
    manifest.edge_splits = {{"links", 1, 3, 2, 1, held_out}};
    const Result<Manifest> back = ManifestFromJson(ManifestToJson(manifest));
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(back->edge_splits, manifest.edge_splits);
  }
  const auto refusal = [&](const json& held_out) {
    json document = json::parse(ManifestToJson(manifest));
    document["edge_splits"][0]["held_out"] = held_out;
    return ManifestFromJson(document.dump()).status().message();
  };
  EXPECT_THAT(refusal(true), HasSubstr("edge_splits[0].held_out: expected an object"));
  EXPECT_THAT(refusal({{"reverse", "cited_by"}}), HasSubstr("edge_splits[0].held_out.reverse: there is no edge type"));
  EXPECT_THAT(refusal({{"reverse", "writes"}}),
              HasSubstr("'writes' does not reverse the node types of 'paper:cites:paper'"));
}

TEST(ManifestTest, KeepsWarnings) {
  Manifest manifest = Tiny();
  EXPECT_FALSE(json::parse(ManifestToJson(manifest)).contains("warnings")) << "older manifests have no such field";
  manifest.warnings = {"3 of 7 training edges are left out"};
  const Result<Manifest> back = ManifestFromJson(ManifestToJson(manifest));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->warnings, manifest.warnings);
}

// The column "feat" of papers, of rows of 2, as I8 with scales.
Manifest WithScales() {
  Manifest manifest = Tiny();
  ColumnEntry& feat = manifest.node_columns[1][0];
  feat.dtype = DType::kI8;
  feat.scales = {1.0F / 127, 3e-45F};
  manifest.format_version = NeededVersion(manifest);
  return manifest;
}

TEST(ManifestTest, KeepsTheScalesOfFeatures) {
  EXPECT_EQ(NeededVersion(Tiny()), 1) << "readers of version 1 can read it";
  EXPECT_FALSE(json::parse(ManifestToJson(Tiny()))["node_types"][1]["columns"][0].contains("scales"));
  const Manifest manifest = WithScales();
  EXPECT_EQ(manifest.format_version, 2);
  const Result<Manifest> back = ManifestFromJson(ManifestToJson(manifest));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->format_version, 2);
  EXPECT_EQ(back->node_columns, manifest.node_columns);
  EXPECT_EQ(ManifestToJson(*back), ManifestToJson(manifest));
}

TEST(ManifestTest, RefusesDamagedScales) {
  const json good = json::parse(ManifestToJson(WithScales()));
  const auto with = [&](const char* pointer, const json& value) {
    json document = good;
    document[json::json_pointer(pointer)] = value;
    return ManifestFromJson(document.dump()).status().message();
  };
  const char* const scales = "/node_types/1/columns/0/scales";
  EXPECT_EQ(with("/format_version", 1), "format_version: a column has scales, which version 1 does not have");
  EXPECT_EQ(with("/node_types/1/columns/0/dtype", "U8"),
            "node_types[1].columns[0].scales: scales for values of U8, expected I8");
  EXPECT_EQ(with(scales, {1.0}),
            "node_types[1].columns[0].scales: 1 scales, expected one for each of the 2 elements of a row");
  EXPECT_THAT(with(scales, "1"), HasSubstr("node_types[1].columns[0].scales: expected a list"));
  for (const json& bad : {json(0), json(-1), json("1"), json(1e39), json(nullptr)}) {
    EXPECT_EQ(with(scales, {1.0, bad}),
              "node_types[1].columns[0].scales[1]: expected a positive number in the range of F32")
        << bad;
  }
  json on_edges = good;
  on_edges["edge_types"][0]["columns"] =
      json::array({{{"name", "w"}, {"dtype", "I8"}, {"row_shape", {1}}, {"scales", {0.5}}}});
  EXPECT_EQ(ManifestFromJson(on_edges.dump()).status().message(),
            "edge_types[0].columns: 'w' has scales, which only node columns may have");
}

TEST(ManifestTest, IgnoresFieldsOfLaterMinorAdditions) {
  json document = json::parse(ManifestToJson(Tiny()));
  document["color"] = "green";
  document["partitions"][0]["graph"]["extra"] = 1;
  EXPECT_TRUE(ManifestFromJson(document.dump()).ok());
}

TEST(ManifestTest, RefusesAnotherVersionByName) {
  json document = {{"format", kPartitionFormatName}, {"format_version", 3}};
  const Status status = ManifestFromJson(document.dump()).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("format_version: this partitioning has version 3"));
  EXPECT_THAT(status.message(), HasSubstr("supports versions 1 and 2: partition the graph again"));
}

struct BadManifestField {
  std::string what;  // part of the message
  std::string pointer;
  json value;
};
void PrintTo(const BadManifestField& field, std::ostream* out) { *out << field.pointer << " = " << field.value; }

class BadManifestTest : public ::testing::TestWithParam<BadManifestField> {};

TEST_P(BadManifestTest, NamesTheField) {
  json document = json::parse(ManifestToJson(Tiny()));
  document[json::json_pointer(GetParam().pointer)] = GetParam().value;
  const Result<Manifest> manifest = ManifestFromJson(document.dump());
  ASSERT_FALSE(manifest.ok());
  EXPECT_EQ(manifest.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(manifest.status().message(), HasSubstr(GetParam().what));
}

// Node types: author (0), paper (1).
INSTANTIATE_TEST_SUITE_P(
    Fields, BadManifestTest,
    ::testing::Values(
        BadManifestField{"format: expected 'espalier.partitioned-graph'", "/format", "zip"},
        BadManifestField{"partition_key: expected 64", "/partition_key", "abc"},
        BadManifestField{"attempt: expected the name of a folder", "/attempt", ".."},
        BadManifestField{"attempt: expected the name of a folder", "/attempt", "a/b"},
        BadManifestField{"warnings[1]: expected a text", "/warnings", {"a", 1}},
        BadManifestField{"seed: expected an integer", "/seed", -1},
        BadManifestField{"seed: expected an integer", "/seed", 1.5},
        BadManifestField{"node_types: expected a list", "/node_types", 3},
        BadManifestField{"node_types[1]: expected an object", "/node_types/1", nullptr},
        BadManifestField{"node_types[1].name: expected a string", "/node_types/1/name", 1},
        BadManifestField{"sorted by name", "/edge_types/0/source", "paper"},
        BadManifestField{"node_types[1].first[2]: expected an integer", "/node_types/1/first/2", "5"},
        BadManifestField{"not ascending", "/node_types/1/first", {0, 9, 5}},
        BadManifestField{"2^62 or more ids", "/node_types/1/first", {0, 3, uint64_t{1} << 62}},
        BadManifestField{"2^32 or more nodes", "/node_types/1/first", {0, 3, uint64_t{1} << 33}},
        BadManifestField{"boundaries", "/node_types/1/first", {0, 5}},
        BadManifestField{"start with 1", "/edge_types/0/first", {1, 2, 4}},
        BadManifestField{"edge_types[0].source: missing", "/edge_types/0", json::object()},
        BadManifestField{"node_types[1].columns[0].dtype: 'F7' is not", "/node_types/1/columns/0/dtype", "F7"},
        BadManifestField{"node_types[1].columns[0].row_shape[0]: expected", "/node_types/1/columns/0/row_shape", {-2}},
        BadManifestField{"row_shape: shape", "/node_types/1/columns/0/row_shape", {1u << 31, 1u << 31, 1u << 31}},
        BadManifestField{"columns[0].lacks_values: expected true", "/node_types/1/columns/0/lacks_values", 1},
        BadManifestField{"node_types[1].columns[1].name", "/node_types/1/columns/1/name", "feat"},
        BadManifestField{"node_types[1].columns[0].name", "/node_types/1/columns/0/name", "a/b"},
        BadManifestField{"splits[0].node_type", "/splits/0/node_type", "venue"},
        BadManifestField{"more nodes than the type", "/splits/0/train", 6},
        BadManifestField{"splits[0].name", "/splits/0/name", "../x"},
        BadManifestField{"partitions: expected 2, found 0", "/partitions", json::array()},
        BadManifestField{"partitions[1].graph.key: object key", "/partitions/1/graph/key", "../../etc/passwd"},
        BadManifestField{"partitions[1].graph.size_bytes: expected an integer", "/partitions/1/graph/size_bytes", "1"},
        BadManifestField{"one checksum for each of 1048576 blocks", "/partitions/1/graph/size_bytes",
                         uint64_t{1} << 42},
        BadManifestField{"each of 4398046511104 blocks", "/partitions/1/graph/size_bytes", ~uint64_t{0}},
        BadManifestField{"partitions[0].edge_columns.xxh3_64[0]: expected 16", "/partitions/0/edge_columns/xxh3_64/0",
                         "xyz"},
        BadManifestField{"quality.cut_ratio: expected a number", "/quality/cut_ratio", "high"},
        BadManifestField{"quality.balance.nodes: expected a number", "/quality/balance/nodes", nullptr},
        BadManifestField{"peak_memory_bytes: expected an integer", "/peak_memory_bytes", json::array()}));

TEST(ManifestTest, RefusesTextThatIsNotAManifest) {
  for (const std::string& text : {std::string(), std::string("oops"), std::string("[]"), std::string("{}"),
                                  std::string("\0", 1), std::string(1000000, '['), std::string("{\"format\":\"\xff\"}"),
                                  std::string(R"({"format":"a","format":"a"})")}) {
    EXPECT_EQ(ManifestFromJson(text).status().code(), StatusCode::kInvalidArgument) << text.substr(0, 20);
  }
}

TEST(ManifestTest, RefusesGarbage) {
  const std::string valid = ManifestToJson(Tiny());
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    const Result<Manifest> manifest = ManifestFromJson(Mutated(valid, random));
    if (manifest.ok()) {
      EXPECT_TRUE(ManifestFromJson(ManifestToJson(*manifest)).ok());
    }
  }
}

}  // namespace
}  // namespace espalier::format

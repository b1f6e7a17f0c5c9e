#include "services/format/source/triples_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "services/format/source/npy_folder.h"
#include "services/format/source/source_reader.h"
#include "services/format/source/testing/source_files.h"
#include "services/graph/testing/small_graphs.h"

namespace espalier::format {
namespace {

using graph::testing::EdgesOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TriplesReaderTest, NumbersEntitiesBySortedName) {
  const testing::TemporaryFolder folder;
  folder.Write("train.txt", "rome\tin\titaly\nparis\tin\tfrance\n");
  folder.Write("test.txt", "italy\tnear\tfrance\nrome\tin\teurope\n");

  const Result<TripleGraph> read = ReadTriples(folder.path(), {});

  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(graph::ValidateSourceGraph(read->graph, 1), Status());
  EXPECT_THAT(read->entity_names, ElementsAre("europe", "france", "italy", "paris", "rome"));
  EXPECT_THAT(read->relation_names, ElementsAre("in", "near"));
  EXPECT_EQ(read->graph.schema.EdgeType(EdgeTypeId(1)).Name(), "entity:near:entity");
  EXPECT_THAT(EdgesOf(read->graph.edges[0]), ElementsAre(std::pair(4, 2), std::pair(3, 1), std::pair(4, 0)));
  EXPECT_THAT(read->graph.edges[0].columns.at(kTripleSplitColumn).values<uint8_t>(), ElementsAre(0, 0, 2));
  const graph::EdgeSplit& split = read->graph.edge_splits.at(kTripleSplit).at(0);
  EXPECT_EQ(split.train, (graph::EdgePairs{{4, 3}, {2, 1}}));
  EXPECT_EQ(split.validation, graph::EdgePairs());
  EXPECT_EQ(split.test, (graph::EdgePairs{{4}, {0}}));
}

TEST(TriplesReaderTest, NumbersEntitiesByFirstAppearanceInOtherColumnOrder) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.WriteGzip("all.txt.gz", "in\trome\titaly\r\nnear\titaly\tfrance");

  WorkMeter meter;
  const Result<TripleGraph> read =
      ReadTriples(path, {.columns = TripleColumns::kRelationHeadTail, .names = NameOrder::kFirstAppearance},
                  /*scratch_folder=*/"", &meter);

  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_THAT(read->entity_names, ElementsAre("rome", "italy", "france"));
  EXPECT_THAT(EdgesOf(read->graph.edges[0]), ElementsAre(std::pair(0, 1)));
  EXPECT_EQ(meter.done_bytes(), std::filesystem::file_size(path));
}

TEST(TriplesReaderTest, DerivesRelationNamesAndKeepsOriginals) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.Write("all.txt", "a\t/is/in\tb\na\t_is_in\tb\na\t" + std::string(300, 'r') + "\tb\n");

  const Result<TripleGraph> read = ReadTriples(path, {});

  ASSERT_TRUE(read.ok()) << read.status().ToString();
  ASSERT_EQ(read->graph.schema.num_edge_types(), 3u);
  EXPECT_EQ(read->graph.schema.EdgeType(EdgeTypeId(0)).relation, "_is_in");
  EXPECT_EQ(read->relation_names[0], "/is/in");
  EXPECT_EQ(read->graph.schema.EdgeType(EdgeTypeId(1)).relation, "_is_in-2");
  EXPECT_EQ(read->relation_names[1], "_is_in");
  EXPECT_EQ(read->relation_names[2], std::string(300, 'r'));
}

// Relations of one length in a script without ASCII letters all get the same name before numbering.
TEST(TriplesReaderTest, NumbersManyRelationsOfOneName) {
  constexpr int kCount = 6000;
  std::string text;
  for (int i = 0; i < kCount; ++i) {
    const std::string relation = {static_cast<char>(0x80 + i % 100), static_cast<char>(0x80 + i / 100)};
    text += "a\t" + relation + "\tb\n";
  }
  text += "a\t__-3\tb\n";  // the name of a numbered relation, sorted before them
  const testing::TemporaryFolder folder;

  const Result<TripleGraph> read = ReadTriples(folder.Write("t.txt", text), {});

  ASSERT_TRUE(read.ok()) << read.status().ToString();
  const graph::GraphSchema& schema = read->graph.schema;
  EXPECT_EQ(schema.num_edge_types(), size_t{kCount} + 1);
  const auto written = [&](const std::string& relation) {
    return read->relation_names[schema.FindEdgeType(relation)->value];
  };
  EXPECT_EQ(written("__"), "\x80\x80");
  EXPECT_EQ(written("__-2"), "\x80\x81");
  EXPECT_EQ(written("__-3"), "__-3");
  EXPECT_EQ(written("__-4"), "\x80\x82");
  EXPECT_TRUE(schema.FindEdgeType("__-" + std::to_string(kCount + 1)).ok());
}

// A file with so many relations most likely has another order of columns; the message asks about it.
TEST(TriplesReaderTest, RefusesMoreRelationsThanThereAreEdgeTypes) {
  std::string text;
  for (int i = 0; i < 70'000; ++i) text += "h\t" + std::to_string(i) + "\tt\n";
  const testing::TemporaryFolder folder;
  const Status refused = ReadTriples(folder.Write("t.txt", text), {}).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(),
              HasSubstr("t.txt:65536: more than 65535 relations: is the second field really the relation"));
}

TEST(TriplesReaderTest, NamesAreKeptBesideTheImportedFolder) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.Write("all.txt", "rome\t/is/in\titaly\nitaly\tnear\tfrance\n");
  SourceNames names;
  const Result<graph::SourceGraph> graph = ReadSourceGraph({.format = SourceFormat::kTriples, .path = path}, &names);
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();

  ASSERT_EQ(WriteNpyFolder(*graph, folder.path() + "/npy", names), Status());

  EXPECT_EQ(folder.Read("npy/names/entity.txt"), "france\nitaly\nrome\n");
  EXPECT_EQ(folder.Read("npy/names/relations.tsv"), "entity:_is_in:entity\t/is/in\nentity:near:entity\tnear\n");
  EXPECT_TRUE(ReadSourceGraph({.format = SourceFormat::kNpy, .path = folder.path() + "/npy"}).ok());
}

TEST(TriplesReaderTest, ByteOrderMarkIsNoPartOfName) {
  const testing::TemporaryFolder folder;
  folder.Write("train.txt", "\xEF\xBB\xBFrome\tin\titaly\r\nrome\tin\teurope\r");
  folder.Write("test.txt", "\xEF\xBB\xBFitaly\tin\teurope\n");

  const Result<TripleGraph> read = ReadTriples(folder.path(), {});

  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_THAT(read->entity_names, ElementsAre("europe", "italy", "rome"));
}

TEST(TriplesReaderTest, NamesLineThatIsNotTriple) {
  const testing::TemporaryFolder folder;
  const auto message = [&](const std::string& text) {
    return ReadTriples(folder.Write("t.txt", text), {}).status().message();
  };
  EXPECT_THAT(message("a\tb\tc\na b c\n"), HasSubstr("t.txt:2: expected three fields with tabs"));
  EXPECT_THAT(message("a\tb\tc\td\n"), HasSubstr("t.txt:1: expected three fields"));
  EXPECT_THAT(message("a\t\tc\n"), HasSubstr("t.txt:1: a field is empty"));
  EXPECT_THAT(message(std::string("\xFF\xFE"
                                  "a\0\t\0b\0\t\0c\0\n\0",
                                  14)),
              HasSubstr("t.txt is text in UTF-16: expected UTF-8; convert it with iconv"));
  EXPECT_THAT(message(std::string("a\0\t\0b\0\t\0c\0\n\0", 12)), HasSubstr("t.txt:1: a zero byte, expected"));
  EXPECT_THAT(ReadTriples(folder.path(), {}).status().message(), HasSubstr("has no train.txt"));
  folder.Write("empty/train.txt", "");
  EXPECT_THAT(ReadSourceGraph({.format = SourceFormat::kTriples, .path = folder.path() + "/empty"}).status().message(),
              HasSubstr("the graph is empty"));
}

}  // namespace
}  // namespace espalier::format

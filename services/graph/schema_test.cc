#include "services/graph/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::graph {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

GraphSchema Library() {
  return *GraphSchema::Make({"paper", "author"}, {{"paper", "cites", "paper"},
                                                  {"author", "writes", "paper"},
                                                  {"author", "likes", "paper"},
                                                  {"author", "likes", "author"}});
}

TEST(GraphSchemaTest, NumbersTypesInTheOrderOfTheirNames) {
  const GraphSchema schema = Library();

  EXPECT_THAT(schema.node_types(), ElementsAre("author", "paper"));
  EXPECT_EQ(schema.EdgeType(EdgeTypeId(0)).Name(), "author:likes:author");
  EXPECT_EQ(schema.EdgeType(EdgeTypeId(3)).Name(), "paper:cites:paper");
  EXPECT_EQ(schema.SourceOf(EdgeTypeId(2)), NodeTypeId(0));
  EXPECT_EQ(schema.DestinationOf(EdgeTypeId(2)), NodeTypeId(1));
  EXPECT_FALSE(schema.is_homogeneous());
}

TEST(GraphSchemaTest, FindsTypesByNameAndUniqueRelations) {
  const GraphSchema schema = Library();

  EXPECT_EQ(*schema.FindNodeType("paper"), NodeTypeId(1));
  EXPECT_EQ(*schema.FindEdgeType("writes"), EdgeTypeId(2));
  EXPECT_EQ(*schema.FindEdgeType("author:likes:paper"), EdgeTypeId(1));
  EXPECT_THAT(schema.EdgeTypesInto(NodeTypeId(1)), ElementsAre(EdgeTypeId(1), EdgeTypeId(2), EdgeTypeId(3)));
}

TEST(GraphSchemaTest, IsHomogeneousWithOneNodeTypeAndAtMostOneEdgeType) {
  const CanonicalEdgeType cites{"paper", "cites", "paper"}, likes{"paper", "likes", "paper"};

  EXPECT_TRUE(GraphSchema::Make({"paper"}, {cites})->is_homogeneous());
  EXPECT_TRUE(GraphSchema::Make({"paper"}, {})->is_homogeneous());
  EXPECT_FALSE(GraphSchema::Make({"paper"}, {cites, likes})->is_homogeneous());
  EXPECT_FALSE(GraphSchema::Make({"author", "paper"}, {cites})->is_homogeneous());
}

TEST(GraphSchemaTest, ErrorsListTypes) {
  const GraphSchema schema = Library();

  EXPECT_EQ(schema.FindNodeType("venue").status(), NotFound("there is no node type 'venue'; there are: author, paper"));
  EXPECT_EQ(schema.FindEdgeType("reads").status().code(), StatusCode::kNotFound);
  const Status ambiguous = schema.FindEdgeType("likes").status();
  EXPECT_EQ(ambiguous.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(ambiguous.message(), HasSubstr("author:likes:author, author:likes:paper"));
}

TEST(GraphSchemaTest, TheOnlyTypeNeedsNoName) {
  const GraphSchema one = *GraphSchema::Make({"a"}, {{"a", "r", "a"}});
  EXPECT_EQ(*one.OnlyNodeType(), NodeTypeId(0));
  EXPECT_EQ(*one.OnlyEdgeType(), EdgeTypeId(0));
  EXPECT_EQ(Library().OnlyNodeType().status(),
            InvalidArgument("expected a node type, because the graph has 2: author, paper"));
  EXPECT_EQ(Library().OnlyEdgeType().status(),
            InvalidArgument("expected an edge type, because the graph has 4: author:likes:author, "
                            "author:likes:paper, author:writes:paper, paper:cites:paper"));
  EXPECT_EQ(GraphSchema::Make({"a"}, {})->OnlyEdgeType().status(),
            InvalidArgument("expected an edge type, because the graph has 0: none"));
}

TEST(GraphSchemaTest, ListsTheFirstOfManyTypes) {
  std::vector<CanonicalEdgeType> types;
  for (int r = 100; r < 160; ++r) types.push_back({"a", "r" + std::to_string(r), "a"});
  const std::string list = GraphSchema::Make({"a"}, types)->EdgeTypeList();
  EXPECT_THAT(list, AllOf(StartsWith("a:r100:a, a:r101:a, "), EndsWith("a:r139:a, ... and 20 more")));
}

TEST(GraphSchemaTest, ReportsNumberOfTypesForInvalidId) {
  const GraphSchema schema = Library();
  EXPECT_TRUE(schema.CheckNodeType(NodeTypeId(1)).ok());
  EXPECT_TRUE(schema.CheckEdgeType(EdgeTypeId(3)).ok());

  const Status node_type = schema.CheckNodeType(NodeTypeId(2));
  EXPECT_EQ(node_type.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(node_type.message(), "node type 2 does not exist; the number of node types is 2");
  const Status edge_type = schema.CheckEdgeType(EdgeTypeId(4));
  EXPECT_EQ(edge_type.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(edge_type.message(), "edge type 4 does not exist; the number of edge types is 4");
}

TEST(GraphSchemaTest, RefusesDuplicatesAndUnknownEndpointTypes) {
  EXPECT_THAT(GraphSchema::Make({"a", "a"}, {}).status().message(), HasSubstr("'a' is declared twice"));
  EXPECT_THAT(GraphSchema::Make({"a"}, {{"a", "r", "a"}, {"a", "r", "a"}}).status().message(),
              HasSubstr("'a:r:a' is declared twice"));
  EXPECT_THAT(GraphSchema::Make({"a"}, {{"a", "r", "b"}}).status().message(), HasSubstr("there is no node type 'b'"));
}

TEST(CheckNameTest, AcceptsValidKeys) {
  for (const char* good : {"paper", "_x", "9", "a.b-c"}) EXPECT_TRUE(CheckName("column", good).ok()) << good;
  for (const char* bad : {"", ".a", "-a", "a:b", "a b", "a/b", "a~b", "\xc3\xa4"}) {
    EXPECT_EQ(CheckName("column", bad).code(), StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_TRUE(CheckName("column", std::string(128, 'a')).ok());
  EXPECT_FALSE(CheckName("column", std::string(129, 'a')).ok());
}

TEST(ParseCanonicalEdgeTypeTest, IsTheInverseOfName) {
  const CanonicalEdgeType type{"author", "writes", "paper"};
  EXPECT_EQ(*ParseCanonicalEdgeType(type.Name()), type);
  for (const char* bad : {"", "writes", "a:b", "a:b:c:d", ":b:c", "a::c", "a:b:"}) {
    EXPECT_FALSE(ParseCanonicalEdgeType(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace espalier::graph

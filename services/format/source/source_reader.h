// Graphs as their users have them, from a local folder.
// Everything read is untrusted: a reader answers with a graph that satisfies ValidateSourceGraph, or with an error
// that names the file and the line or field.
#pragma once

#include <string>
#include <vector>

#include "services/base/work_meter.h"
#include "services/format/source/source_names.h"
#include "services/format/source/triples_reader.h"
#include "services/graph/label_columns.h"
#include "services/graph/source_graph.h"

namespace espalier::format {

enum class SourceFormat { kOgb, kNpy, kTriples, kDglChunked };
const char* ToString(SourceFormat format);  // "OGB", "NPY", "Triples", "DGLChunked": as in the job document

struct SourceReadOptions {
  SourceFormat format = SourceFormat::kOgb;
  std::string path;  // a folder; of triples also one file
  int threads = 1;
  TripleOptions triples;            // for kTriples
  graph::LabelColumns labels = {};  // which columns may lack values
  WorkMeter* meter = nullptr;       // counts the bytes of text that are read, unless null; other files are mapped
  // Receives one sentence for each input that was left out or is probably a mistake. Null: warnings are discarded.
  std::vector<std::string>* warnings = nullptr;
};

// OGB: the raw CSV layout (ogb_reader.h). NPY: a folder with graph.yaml (graph_description.h). Triples:
// triples_reader.h. DGLChunked: chunked_reader.h.
// `names`, unless null, gets what the source calls its nodes and relations (triples).
Result<graph::SourceGraph> ReadSourceGraph(const SourceReadOptions& options, SourceNames* names = nullptr);

// The same graph for those who have no memory for it: arrays that cannot be mapped where they are, are put together in
// files in `scratch_folder` that nobody sees, and mapped. Memory holds the blocks of text at hand (of DGLChunked a
// chunk), of triples the names, splits of nodes, and those of edges, but for triples' and pairs of U64 in NPY. Not
// validated: what is read in parts is validated in parts.
Result<graph::SourceGraph> MapSourceGraph(const SourceReadOptions& options, const std::string& scratch_folder);

// SHA-256 over what decides the graph: the format, its options, and sorted relative names, sizes and bytes of the
// source's files (OGB: raw/ and split/; others: everything below the path). Also whether splits name edges by numbers.
Result<std::string> SourceDigest(const SourceReadOptions& options);
// The format and its options as they go into the digest: equal texts and equal bytes make equal digests.
std::string DigestedOptions(const SourceReadOptions& options);

}  // namespace espalier::format

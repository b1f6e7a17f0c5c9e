// Reads graphs in the formats of SourceFormat from local files. All input is untrusted: ReadSourceGraph returns a graph
// that satisfies ValidateSourceGraph, or an error that names the file and the line or field.
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
  std::string path;  // a folder, or for triples also a file
  int threads = 1;
  TripleOptions triples;            // for kTriples
  graph::LabelColumns labels = {};  // the columns that may lack values
  WorkMeter* meter = nullptr;       // unless null, counts the bytes of text files of OGB and triples
  // Receives one sentence for each input that was ignored or is probably a mistake. Null: warnings are discarded.
  std::vector<std::string>* warnings = nullptr;
};

// Reads a graph into memory and validates it. The formats are described in ogb_reader.h (OGB), graph_description.h
// (NPY), triples_reader.h (Triples) and chunked_metadata.h (DGLChunked). `names`, unless null, receives the names of
// nodes and relations (triples only).
Result<graph::SourceGraph> ReadSourceGraph(const SourceReadOptions& options, SourceNames* names = nullptr);

// Reads a graph that may be larger than memory. Arrays that cannot be mapped in place are built in unnamed, mapped
// files in `scratch_folder`. Memory holds the current blocks of text (DGLChunked: one chunk), the names of entities and
// relations (Triples), and all splits except two kinds, which are mapped: those of Triples, and the splits of edges
// that an NPY folder stores as U64 pairs. The graph is not validated; the caller validates the parts that it reads.
Result<graph::SourceGraph> MapSourceGraph(const SourceReadOptions& options, const std::string& scratch_folder);

// Returns the SHA-256 of everything that determines the graph: the format, its options, whether splits may identify
// edges by row numbers or ids, and the relative names, sizes and contents of the source's files, sorted by name; of a
// folder, only the files that MakeGraphFileFilter (source_content.h) selects.
Result<std::string> SourceDigest(const SourceReadOptions& options);
// Returns the format and its options as text, the part of the digest that does not depend on the files.
std::string DigestedOptions(const SourceReadOptions& options);

}  // namespace espalier::format

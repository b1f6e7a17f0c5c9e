// Selects the files of a folder that belong to a graph. Other files in the folder (a job document, outputs of a run,
// a list of node names) do not belong to the source, and may change without a change to the graph.
#pragma once

#include <functional>
#include <string>

#include "services/format/source/source_files.h"

namespace espalier::format {

// Returns true if the file with this name, relative to the folder, belongs to the graph.
using FileFilter = std::function<bool(const std::string& name)>;

// Returns the filter for the folder at `uri`. OGB: files below raw/ and split/. Triples: train.txt, valid.txt and
// test.txt, plain or gzip. NPY and DGLChunked: the description (graph.yaml, metadata.json) and the files that it lists.
// If the description is missing or invalid, the filter accepts only its name; the reader of the format then
// returns the error. Returns errors of the store.
Result<FileFilter> MakeGraphFileFilter(SourceFormat format, const std::string& uri, const SourceAccess& access);

}  // namespace espalier::format

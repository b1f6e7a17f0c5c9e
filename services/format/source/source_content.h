// Which files of a folder a graph is read from. What else lies there (a job's document, a run's outputs, names for
// people) is no part of the source: it may change without the graph being another one.
#pragma once

#include <functional>
#include <string>

#include "services/format/source/source_files.h"

namespace espalier::format {

using FileFilter = std::function<bool(const std::string& name)>;

// For names relative to `uri`: OGB's raw/ and split/; the three files of Triples; of NPY and DGLChunked the description
// and what it names. A description that is missing or bad, for which readers have the words, names nothing. An error is
// the store's.
Result<FileFilter> FilesOfGraph(SourceFormat format, const std::string& uri, const SourceAccess& access);

}  // namespace espalier::format

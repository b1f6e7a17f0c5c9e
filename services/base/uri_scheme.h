// Schemes of the URIs that name graphs, models and results: a path, "file:..." or "s3://bucket/prefix".
#pragma once

#include <string>

namespace espalier {

// Returns `uri` with any spelling of the object storage scheme replaced by "s3", the only one that other code accepts.
// Schemes are case-insensitive (RFC 3986), and Hadoop's "s3a" names the same objects as "s3": "S3A://b/p", "s3a://b/p"
// and "S3://b/p" become "s3://b/p". Paths and other URIs are returned unchanged. The scheme "file:" is accepted only in
// lower case, because "FILE:a" may be a path.
std::string CanonicalUri(std::string uri);

// Returns the error message for a canonical URI whose scheme is not supported, "" for a path or a supported scheme.
std::string SchemeProblem(const std::string& uri);

}  // namespace espalier

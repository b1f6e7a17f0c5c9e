// Schemes of the URIs that name graphs, models and results: a path, "file:..." or "s3://bucket/prefix".
#pragma once

#include <string>

namespace espalier {

// Returns `uri` with the scheme of object storage spelled as every component compares it. Schemes are case-insensitive
// (RFC 3986), and Hadoop's "s3a" names the same objects as "s3": "S3A://b/p", "s3a://b/p" and "S3://b/p" become
// "s3://b/p". Others, paths included, are returned unchanged.
std::string CanonicalUri(std::string uri);

// Returns the error for a canonical URI whose scheme has no driver: it lists those that exist. Returns "" for a path
// and for schemes that have one.
std::string SchemeProblem(const std::string& uri);

}  // namespace espalier

// Creates source files for tests: a temporary folder, text, gzip and .npy files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::format::testing {

// A new, empty folder. The destructor removes it with its content.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

  // Writes a file below the folder and returns its path. Creates the folders of `name`. WriteGzip compresses the text.
  std::string Write(const std::string& name, const std::string& bytes) const;
  std::string WriteGzip(const std::string& name, const std::string& text) const;

  // Returns the content of a file below the folder.
  std::string Read(const std::string& name) const;

 private:
  std::string path_;
};

// Returns the content of a gzip file with `text`.
std::string Gzip(const std::string& text);

// Returns the content of a .npy file, version 1, with this header dictionary and data.
std::string Npy(const std::string& dictionary, const std::string& data);

// Returns the bytes of the values in the byte order of the host (little-endian).
template <class T>
std::string BytesOf(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// Writes a graph in OGB's raw CSV layout: a triangle 0 -> 1 -> 2 -> 0 and an isolated node 3, with two features, three
// classes and the split "public".
void WriteOgbTriangle(const TemporaryFolder& folder);

}  // namespace espalier::format::testing

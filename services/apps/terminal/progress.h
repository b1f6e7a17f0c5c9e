// Progress for people: a bar that redraws itself on a terminal, plain lines (few of them) elsewhere, nothing when
// quiet. Goes to standard error, so that standard output stays data.
#pragma once

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

#include "services/base/clock.h"

namespace espalier::terminal {

enum class ProgressStyle { kBar, kLines, kQuiet };
// kBar where `file` is a terminal that can redraw.
ProgressStyle StyleFor(std::FILE* file, bool quiet);

// "[=========>          ]" of `width` characters, brackets included.
std::string BarText(double fraction, int width);
// "7 s", "3 min 20 s", "2 h 5 min"
std::string DurationText(double seconds);
// "1.2 k", "45.1 M": for rates and counts.
std::string CountText(double count);
// "1.2 kB", "45.1 MB"
std::string BytesText(uint64_t bytes);

// Owned by one thread.
class Progress {
 public:
  Progress(ProgressStyle style, std::FILE* out, Clock& clock = Clock::Real())
      : style_(style), out_(out), clock_(clock) {}
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Begins a phase: what went before is over.
  void Begin(const std::string& phase);
  // `fraction` of the phase is done (negative: nobody knows). Redraws ten times a second, or prints a line every
  // few seconds; the remaining time is the phase's own so far, extended.
  void Update(double fraction, const std::string& detail);
  // As Update, with the remaining seconds known.
  void Update(double fraction, const std::string& detail, std::optional<double> remaining_seconds);
  // Ends the phase with a line: "partitioned in 2 s: 2 partitions ...".
  void End(const std::string& line);
  // A line that stays.
  void Note(const std::string& line);

 private:
  void Clear();
  void Draw(double fraction, const std::string& detail, std::optional<double> remaining_seconds);

  const ProgressStyle style_;
  std::FILE* const out_;
  Clock& clock_;
  std::string phase_;
  SteadyTime phase_start_;
  std::optional<SteadyTime> last_drawn_;
  bool bar_shown_ = false;
};

}  // namespace espalier::terminal

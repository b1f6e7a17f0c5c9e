// Progress display: a bar that is redrawn in place on a terminal, otherwise a line every few seconds, or nothing in
// quiet mode. Callers pass standard error, so that standard output contains only results.
#pragma once

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/work_meter.h"

namespace espalier::terminal {

enum class ProgressStyle { kBar, kLines, kQuiet };
// Returns kQuiet if `quiet` is set, kBar if `file` is a terminal that can redraw a line, otherwise kLines.
ProgressStyle StyleFor(std::FILE* file, bool quiet);

// Returns a bar such as "[=========>          ]" with `width` characters, including the brackets.
std::string BarText(double fraction, int width);
// Returns "7.0 s", "42 s", "3 min 20 s" or "2 h 5 min".
std::string DurationText(double seconds);
// Returns a rate or a count as "512", "1.2 k" or "45.1 M" (powers of 1000).
std::string CountText(double count);
// Returns "512 B", "1.2 kB" or "45.1 MB" (powers of 1000).
std::string BytesText(uint64_t bytes);

// Shows one phase at a time. Not thread-safe. Does not own `out` and `clock`.
class Progress {
 public:
  Progress(ProgressStyle style, std::FILE* out, Clock& clock = Clock::Real())
      : style_(style), out_(out), clock_(clock) {}
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Begins a phase, which replaces the current one.
  void Begin(const std::string& phase);
  // Begins a phase without printing a line for it, for short phases that alternate. Does nothing if `phase` is already
  // the current one.
  void SwitchTo(const std::string& phase);
  // Reports that `fraction` of the phase is done; negative: unknown. Redraws the bar at most ten times a second, or
  // prints a line at most every five seconds. The remaining time is extrapolated from the elapsed time of the phase.
  void Update(double fraction, const std::string& detail);
  // Like Update, but with the given remaining time; nullopt: none is shown.
  void Update(double fraction, const std::string& detail, std::optional<double> remaining_seconds);
  // Like Update, with the fraction from `meter` and the phase's average rate ("45.1 MB/s") as the detail. While the
  // meter has counted nothing, shows the elapsed time instead, from one second on.
  void Update(const WorkMeter& meter);
  // Draws the final state of a phase's bar without regard to the redraw interval. Prints no line in kLines.
  void UpdateLast(const WorkMeter& meter);
  // Clears the bar and prints `line`, the last one of the phase, such as "partitioned in 2 s: 2 partitions ...".
  void End(const std::string& line);
  // Clears the bar and prints `line`, which stays on the terminal.
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

// Begins a phase. Until destruction, a separate thread updates `progress` from meter(), and no other code may use
// `progress`.
class MeteredPhase {
 public:
  MeteredPhase(Progress& progress, const std::string& phase);
  ~MeteredPhase();
  MeteredPhase(const MeteredPhase&) = delete;
  MeteredPhase& operator=(const MeteredPhase&) = delete;

  WorkMeter* meter() { return &meter_; }

 private:
  void PrintUntilDone();

  Progress& progress_;
  WorkMeter meter_;
  Mutex mutex_;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // declared last: uses the other members
};

}  // namespace espalier::terminal

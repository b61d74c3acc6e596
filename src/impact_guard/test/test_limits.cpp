// No sequence of inputs drives the torque out of its limits, and damping takes energy only. Arguments: sequences, seed.
#include <cstring>
#include <limits>
#include <random>

#include "check.hpp"
#include "example.hpp"

using namespace example;

namespace
{

constexpr int CYCLES = 400;

class Adversary
{
public:
  explicit Adversary(std::uint64_t seed) : random_(seed) {}

  bool one_in(int n) { return std::uniform_int_distribution<int>(1, n)(random_) == 1; }
  double between(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  std::uint64_t below(std::uint64_t n) { return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random_); }

  /// A number of any kind: mostly within `scale`, else special, or any bit pattern.
  double number(double scale, int odd)
  {
    if (!one_in(odd)) {
      return between(-scale, scale);
    }
    constexpr double SPECIAL[] = {
      std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
      -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::max(),
      std::numeric_limits<double>::lowest(),    std::numeric_limits<double>::denorm_min(),
      -0.0,                                     1e9};
    const auto which = below(9);
    if (which < 8) {
      return SPECIAL[which];
    }
    const std::uint64_t bits = random_();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

  Nanoseconds any_time() { return static_cast<Nanoseconds>(random_()); }

  Settings settings()
  {
    Settings s = example::settings(1 + below(MAX_JOINTS));
    for (std::size_t i = 0; i < s.size; ++i) {
      s.torque_limit[i] = between(0.1, 100.0);
      s.torque_step[i] = between(0.01, 5.0);
      s.damping[i] = one_in(5) ? 0.0 : between(0.0, 100.0);
    }
    s.doubled_above = one_in(5) ? 0.0 : between(0.0, 3.0);
    s.command_timeout = 1 + static_cast<Nanoseconds>(below(10 * MILLISECOND));
    s.recovery_commands = 1 + static_cast<std::uint32_t>(below(10));
    return s;
  }

private:
  std::mt19937_64 random_;
};

/// Whether the torque of each joint is finite, in its limits, and near that of the cycle before.
void check_limits(const Settings & s, const Vector & before, const Vector & now, std::uint64_t seed, int cycle)
{
  for (std::size_t i = 0; i < s.size; ++i) {
    CHECK(std::isfinite(now[i]), "seed %lu cycle %d joint %zu: %g", seed, cycle, i, now[i]);
    CHECK(
      std::fabs(now[i]) <= s.torque_limit[i], "seed %lu cycle %d joint %zu: %g of %g", seed, cycle, i, now[i],
      s.torque_limit[i]);
    const double change = std::fabs(now[i] - before[i]);
    CHECK(
      change <= s.torque_step[i] * (1.0 + 1e-12) + 1e-13, "seed %lu cycle %d joint %zu: change of %g, %g allowed",
      seed, cycle, i, change, s.torque_step[i]);
  }
}

/// Whether a torque that damps takes energy, or is on its way there as fast as the rate limit allows.
void check_damping(
  const Settings & s, const Vector & before, const Vector & now, const Vector & velocity, std::uint64_t seed)
{
  for (std::size_t i = 0; i < s.size; ++i) {
    const bool known = std::isfinite(velocity[i]);
    const bool arrived = known ? now[i] * velocity[i] <= 0.0 : now[i] == 0.0;
    const double change = now[i] - before[i];
    const bool full_step = std::fabs(std::fabs(change) - s.torque_step[i]) <= 1e-9 * s.torque_step[i] + 1e-13;
    const bool downhill = known ? change * velocity[i] <= 0.0 : change * before[i] <= 0.0;
    CHECK(
      arrived || (full_step && downhill), "seed %lu joint %zu: torque %g after %g at velocity %g", seed, i, now[i],
      before[i], velocity[i]);
  }
}

void any_sequence(std::uint64_t seed)
{
  Adversary adversary(seed);
  const Settings s = adversary.settings();
  Guard guard(s);
  Vector present;
  for (double & torque : present) {
    torque = adversary.number(50.0, 10);
  }
  Nanoseconds now = adversary.one_in(4) ? adversary.any_time() : 1'000'000 * MILLISECOND;
  guard.reset(now, present);
  Vector before{};
  for (std::size_t i = 0; i < s.size; ++i) {
    before[i] = std::isfinite(present[i]) ? std::clamp(present[i], -s.torque_limit[i], s.torque_limit[i]) : 0.0;
  }
  // Quiet adversaries let the guard become active, wild ones try everything in every cycle.
  const int oddity = adversary.one_in(3) ? 3 : 100;
  std::uint64_t sources = adversary.below(3);
  for (int k = 0; k < CYCLES; ++k) {
    now = adversary.one_in(20 * oddity) ? adversary.any_time()
                                        : static_cast<Nanoseconds>(
                                            static_cast<std::uint64_t>(now) +
                                            static_cast<std::uint64_t>(
                                              adversary.one_in(oddity) ? adversary.between(-2e7, 2e7) : 1e6));
    Command fresh;
    const bool comes = !adversary.one_in(adversary.one_in(50) ? 1 : oddity);
    fresh.size = adversary.one_in(oddity) ? adversary.below(2 * MAX_JOINTS) : s.size;
    fresh.other_joints = adversary.one_in(5 * oddity);
    fresh.received = adversary.one_in(10 * oddity) ? adversary.any_time() : now;
    fresh.source_changes = sources += adversary.one_in(5 * oddity);
    for (double & torque : fresh.torque) {
      torque = adversary.number(150.0, 20 * oddity);
    }
    Vector velocity;
    for (double & v : velocity) {
      v = adversary.number(2.0, 5 * oddity);
    }
    const Vector output = guard.update(now, comes ? &fresh : nullptr, velocity, !adversary.one_in(5));
    check_limits(s, before, output, seed, k);
    if (guard.report().state != State::ACTIVE) {
      check_damping(s, before, output, velocity, seed);
    }
    before = output;
  }
}

/// Loops that die in motion and under torque: from the end of the ramp on each joint only loses energy, and stops.
/// So it is while that torque changes more slowly than the rate limit: 2 D^2 (2 |dq| - 0.5) / inertia below 1000 Nm/s.
void dead_commanders_of_moving_joints(std::uint64_t seed)
{
  Adversary adversary(seed);
  Course course;
  const Settings s = settings();
  Vector inertia;
  for (std::size_t i = 0; i < s.size; ++i) {
    inertia[i] = s.damping[i] / adversary.between(5.0, 15.0);
  }
  course.commanded_times(100, adversary.between(-20.0, 20.0));
  CHECK(course.state() == State::ACTIVE, "seed %lu: not active", seed);
  for (double & v : course.velocity) {
    v = adversary.between(-1.0, 1.0);
  }
  std::array<bool, MAX_JOINTS> ramped{};
  for (int k = 0; k < 3000; ++k) {
    const Vector & torque = course.cycle();
    for (std::size_t i = 0; i < s.size; ++i) {
      double & v = course.velocity[i];
      const double speed = std::fabs(v);
      const double excess = speed > s.doubled_above ? speed - s.doubled_above : 0.0;
      const double target = std::clamp(
        -std::copysign(s.damping[i] * (speed + excess), v), -s.torque_limit[i], s.torque_limit[i]);
      ramped[i] = ramped[i] || (k >= 5 && std::fabs(torque[i] - target) <= 1e-12 * std::fabs(target));
      CHECK(!ramped[i] || torque[i] * v <= 0.0, "seed %lu joint %zu adds energy in cycle %d", seed, i, k);
      const double faster = std::fabs(v + torque[i] / inertia[i] * 1e-3);
      CHECK(!ramped[i] || faster <= std::fabs(v), "seed %lu joint %zu gets faster in cycle %d", seed, i, k);
      v += torque[i] / inertia[i] * 1e-3;
    }
  }
  for (std::size_t i = 0; i < s.size; ++i) {
    CHECK(ramped[i] && std::fabs(course.velocity[i]) < 1e-3, "seed %lu joint %zu moves on", seed, i);
  }
}

}  // namespace

int main(int count, char ** words)
{
  const std::uint64_t sequences = count > 1 ? std::strtoull(words[1], nullptr, 10) : 4000;
  const std::uint64_t first = count > 2 ? std::strtoull(words[2], nullptr, 10) : 1;
  for (std::uint64_t seed = first; seed < first + sequences; ++seed) {
    any_sequence(seed);
    if (seed % 20 == 0) {
      dead_commanders_of_moving_joints(seed);
    }
  }
  std::printf("%lu sequences of %d cycles\n", sequences, CYCLES);
  return 0;
}

// Settings, commands and courses that the tests share.
#pragma once

#include "impact_guard/guard.hpp"

namespace example
{

using namespace impact_guard;

constexpr Nanoseconds MILLISECOND = 1'000'000;

/// Settings like those of a Franka at 1 kHz.
inline Settings settings(std::size_t size = 7)
{
  Settings s;
  s.size = size;
  for (std::size_t i = 0; i < size; ++i) {
    s.torque_limit[i] = i < 4 ? 87.0 : 12.0;
    s.torque_step[i] = 1.0;
    s.damping[i] = i < 4 ? 20.0 : 2.0;
  }
  s.doubled_above = 0.5;
  s.command_timeout = 5 * MILLISECOND;
  s.recovery_commands = 3;
  return s;
}

inline Vector all(double value)
{
  Vector v;
  v.fill(value);
  return v;
}

inline Command command(Nanoseconds received, double torque, std::uint64_t source_changes = 0, std::size_t size = 7)
{
  Command c;
  c.size = size;
  c.torque = all(torque);
  c.received = received;
  c.source_changes = source_changes;
  return c;
}

/// A guard with its clock: each cycle is one millisecond.
class Course
{
public:
  explicit Course(const Settings & s = settings()) : guard(s) { guard.reset(now, all(0.0)); }

  const Vector & cycle(const Command * fresh = nullptr)
  {
    now += MILLISECOND;
    return guard.update(now, fresh, velocity, one_publisher);
  }

  /// A cycle with a command that came just before it.
  const Vector & commanded(double torque, std::uint64_t source_changes = 0)
  {
    const Command c = command(now + MILLISECOND - 1000, torque, source_changes);
    return cycle(&c);
  }

  void commanded_times(int times, double torque, std::uint64_t source_changes = 0)
  {
    for (int k = 0; k < times; ++k) {
      commanded(torque, source_changes);
    }
  }

  State state() const { return guard.report().state; }
  Reason reason() const { return guard.report().reason; }

  Guard guard;
  Nanoseconds now = 1'000'000 * MILLISECOND;
  Vector velocity = all(0.0);
  bool one_publisher = true;
};

}  // namespace example

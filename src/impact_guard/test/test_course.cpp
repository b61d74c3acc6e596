// Time-out, recovery, second publishers and activation, to the cycle.
#include <limits>

#include "check.hpp"
#include "example.hpp"

using namespace example;

namespace
{

constexpr double NO_NUMBER = std::numeric_limits<double>::quiet_NaN();

void follows_regular_commands_from_the_third_on()
{
  Course course;
  CHECK(course.reason() == Reason::NO_COMMAND, "%s", words_of(course.reason()));
  CHECK(course.commanded(0.5)[0] == 0.0 && course.state() == State::WAITING, "first");
  CHECK(course.commanded(0.5)[0] == 0.0 && course.state() == State::WAITING, "second");
  CHECK(course.commanded(0.5)[0] == 0.5 && course.state() == State::ACTIVE, "third");
  CHECK(course.reason() == Reason::NONE, "%s", words_of(course.reason()));
}

void one_command_settles_each_cycle_until_the_timeout_is_over()
{
  for (int timeout = 1; timeout <= 20; ++timeout) {
    Settings s = settings();
    s.command_timeout = timeout * MILLISECOND;
    Course course(s);
    course.velocity = all(1.0);
    course.commanded_times(50, 10.0);
    // The last one came 1 us before its cycle: it is as old as the time-out, less 1 us, after as many cycles.
    for (int missed = 1; missed < timeout; ++missed) {
      CHECK(course.cycle()[0] == 10.0, "time-out of %d ms, cycle %d", timeout, missed);
      CHECK(course.state() == State::ACTIVE, "time-out of %d ms, cycle %d", timeout, missed);
    }
    CHECK(course.cycle()[0] == 9.0, "time-out of %d ms", timeout);
    CHECK(course.state() == State::DAMPING && course.reason() == Reason::TIMEOUT, "time-out of %d ms", timeout);
    CHECK(course.guard.report().dampings == 1, "time-out of %d ms", timeout);
    for (int k = 0; k < 100; ++k) {
      course.cycle();
    }
    CHECK(course.cycle()[0] == -30.0 && course.cycle()[6] == -3.0, "not D dq and once more above 0.5 rad/s");
  }
}

void a_command_as_old_as_the_timeout_is_followed_and_one_older_by_a_nanosecond_is_not()
{
  for (const Nanoseconds late : {0, 1}) {
    Guard guard(settings());
    guard.reset(0, all(0.0));
    Nanoseconds now = 0;
    for (int k = 0; k < 3; ++k) {
      now += MILLISECOND;
      const Command fresh = command(now, 1.0);
      guard.update(now, &fresh, all(0.0), true);
    }
    guard.update(now + settings().command_timeout + late, nullptr, all(0.0), true);
    CHECK((guard.report().state == State::ACTIVE) == (late == 0), "later by %ld ns", static_cast<long>(late));
  }
}

void a_clock_that_jumps_back_ends_in_damping()
{
  Course course;
  course.commanded_times(20, 10.0);
  course.now -= 7 * MILLISECOND;
  course.cycle();
  CHECK(course.state() == State::DAMPING, "a command from the future is followed");
}

void begins_again_after_three_commands_in_time_from_its_present_torque()
{
  Course course;
  course.velocity = all(-0.5);
  course.commanded_times(50, -8.0);
  for (int k = 0; k < 100; ++k) {
    course.cycle();
  }
  CHECK(course.state() == State::DAMPING && course.cycle()[0] == 10.0, "not damped");
  // Single commands further apart than the time-out change nothing.
  for (int k = 0; k < 10; ++k) {
    course.commanded(-8.0);
    for (int missed = 0; missed < 6; ++missed) {
      course.cycle();
    }
    CHECK(course.state() == State::DAMPING && course.cycle()[0] == 10.0, "followed a straggler");
  }
  course.commanded_times(2, -8.0);
  CHECK(course.state() == State::DAMPING, "too early");
  CHECK(course.commanded(-8.0)[0] == 9.0 && course.state() == State::ACTIVE, "not resumed");
}

void commands_too_far_apart_do_not_count_when_cycles_are_missing_between_them()
{
  Course course;
  for (int k = 0; k < 20; ++k) {
    course.now += 6 * MILLISECOND;
    course.commanded(5.0);
    CHECK(course.state() == State::WAITING, "command %d", k);
  }
}

void rejected_commands_count_as_none()
{
  const auto fails = [](Reason reason, void (*spoil)(Command &)) {
    Course course;
    course.commanded_times(20, 5.0);
    for (int k = 1; k <= 5; ++k) {
      Command bad = command(course.now + MILLISECOND, 80.0);
      spoil(bad);
      const double torque = course.cycle(&bad)[0];
      CHECK(torque == (k < 5 ? 5.0 : 4.0), "%s: %g in cycle %d", words_of(reason), torque, k);
    }
    CHECK(course.state() == State::DAMPING && course.reason() == reason, "%s", words_of(course.reason()));
    CHECK(course.guard.report().rejected[static_cast<std::size_t>(reason)] == 5, "%s: count", words_of(reason));
  };
  fails(Reason::WRONG_SIZE, [](Command & c) { c.size = 6; });
  fails(Reason::WRONG_SIZE, [](Command & c) { c.size = 8; });
  fails(Reason::WRONG_SIZE, [](Command & c) { c.size = 0; });
  fails(Reason::WRONG_SIZE, [](Command & c) { c.size = 1'000'000; });
  fails(Reason::WRONG_ORDER, [](Command & c) { c.other_joints = true; });
  fails(Reason::NOT_FINITE, [](Command & c) { c.torque[3] = NO_NUMBER; });
  fails(Reason::NOT_FINITE, [](Command & c) { c.torque[6] = std::numeric_limits<double>::infinity(); });
}

void a_second_source_damps_in_the_same_cycle_until_it_is_gone()
{
  Course course;
  course.velocity = all(0.1);
  course.commanded_times(20, 5.0);
  course.one_publisher = false;
  course.commanded_times(20, 5.0);
  CHECK(course.state() == State::ACTIVE, "a publisher that sends nothing does no harm");
  CHECK(course.commanded(60.0, 1)[0] == 4.0 && course.state() == State::DAMPING, "followed");
  CHECK(course.reason() == Reason::SECOND_SOURCE, "%s", words_of(course.reason()));
  for (std::uint64_t k = 0; k < 200; ++k) {
    course.commanded(k % 2 != 0 ? 5.0 : 60.0, 2 + k);
  }
  course.commanded_times(200, 5.0, 202);
  CHECK(course.state() == State::DAMPING && course.reason() == Reason::SECOND_SOURCE, "it is still there");
  CHECK(course.cycle()[0] == -2.0, "not damped");
  course.one_publisher = true;
  course.commanded(5.0, 202);
  CHECK(course.state() == State::ACTIVE, "one is left, and regular");
}

void a_second_source_is_seen_by_what_it_sends_also_when_that_is_rejected()
{
  Course course;
  course.commanded_times(20, 5.0);
  Command bad = command(course.now + MILLISECOND, NO_NUMBER, 1);
  course.cycle(&bad);
  CHECK(course.state() == State::DAMPING && course.reason() == Reason::SECOND_SOURCE, "not seen");
}

void a_successor_after_silence_is_no_second_source()
{
  Course course;
  course.commanded_times(20, 5.0);
  for (int k = 0; k < 10; ++k) {
    course.cycle();
  }
  // The middleware lists the dead one for a while.
  course.one_publisher = false;
  course.commanded_times(3, 5.0, 1);
  CHECK(course.state() == State::ACTIVE, "%s", words_of(course.reason()));
}

void an_unknown_velocity_lets_its_joint_fade_and_damps_the_others()
{
  Course course;
  course.velocity = all(0.2);
  course.commanded_times(50, 6.0);
  course.velocity[1] = NO_NUMBER;
  course.velocity[2] = -std::numeric_limits<double>::infinity();
  for (int k = 0; k < 40; ++k) {
    course.cycle();
  }
  const Vector & torque = course.cycle();
  CHECK(torque[0] == -4.0 && torque[1] == 0.0 && torque[2] == 0.0, "%g %g %g", torque[0], torque[1], torque[2]);
  CHECK(course.guard.report().unknown_velocity == 37, "%lu", course.guard.report().unknown_velocity);
}

void an_activation_begins_anew()
{
  Course course;
  course.commanded_times(50, 10.0);
  Vector present = all(200.0);
  present[1] = NO_NUMBER;
  present[2] = 3.0;
  course.guard.reset(course.now, present);
  CHECK(course.state() == State::WAITING && course.guard.report().accepted == 0, "not reset");
  // Received before the activation, by a subscription that outlives it.
  const Command old = command(course.now - 1, 10.0);
  for (int k = 0; k < 4; ++k) {
    const Vector & torque = course.cycle(&old);
    const double steps = 1.0 + k;
    CHECK(torque[0] == 87.0 - steps && torque[1] == 0.0, "%g %g", torque[0], torque[1]);
    CHECK(torque[2] == std::max(0.0, 3.0 - steps), "%g", torque[2]);
  }
  CHECK(course.reason() == Reason::NO_COMMAND, "%s", words_of(course.reason()));
}

void torques_above_the_limit_are_cut()
{
  Course course;
  course.commanded_times(200, 1e300);
  CHECK(course.commanded(1e300)[0] == 87.0 && course.commanded(-1e300)[6] == 11.0, "not cut");
  CHECK(course.guard.report().saturated == 200, "%lu", course.guard.report().saturated);
}

void settings_that_make_no_sense_are_refused()
{
  const auto refused = [](void (*spoil)(Settings &)) {
    Settings s = settings();
    spoil(s);
    try {
      Guard guard(s);
    } catch (const std::invalid_argument &) {
      return true;
    }
    return false;
  };
  CHECK(!refused([](Settings &) {}), "sound settings");
  CHECK(refused([](Settings & s) { s.size = 0; }), "no joint");
  CHECK(refused([](Settings & s) { s.size = 17; }), "17 joints");
  CHECK(refused([](Settings & s) { s.torque_limit[6] = 0.0; }), "torque limit");
  CHECK(refused([](Settings & s) { s.torque_limit[0] = std::numeric_limits<double>::infinity(); }), "torque limit");
  CHECK(refused([](Settings & s) { s.torque_step[6] = -1.0; }), "torque step");
  CHECK(refused([](Settings & s) { s.damping[0] = -1.0; }), "damping");
  CHECK(refused([](Settings & s) { s.damping[0] = NO_NUMBER; }), "damping");
  CHECK(refused([](Settings & s) { s.doubled_above = -0.1; }), "speed of the doubled damping");
  CHECK(refused([](Settings & s) { s.doubled_above = NO_NUMBER; }), "speed of the doubled damping");
  CHECK(refused([](Settings & s) { s.command_timeout = 0; }), "time-out");
  CHECK(refused([](Settings & s) { s.recovery_commands = 0; }), "recovery");
}

void a_label_in_another_order_or_of_fewer_joints_is_for_others()
{
  const std::string own = label_of({"joint1", "joint2", "joint3"});
  CHECK(own == "joint1,joint2,joint3", "%s", own.c_str());
  CHECK(!for_others(own, own), "the label of the guard");
  CHECK(!for_others("", own), "no label");
  CHECK(for_others(label_of({"joint2", "joint1", "joint3"}), own), "two joints swapped");
  CHECK(for_others(label_of({"joint1", "joint2"}), own), "a joint is missing");
}

}  // namespace

int main()
{
  follows_regular_commands_from_the_third_on();
  one_command_settles_each_cycle_until_the_timeout_is_over();
  a_command_as_old_as_the_timeout_is_followed_and_one_older_by_a_nanosecond_is_not();
  a_clock_that_jumps_back_ends_in_damping();
  begins_again_after_three_commands_in_time_from_its_present_torque();
  commands_too_far_apart_do_not_count_when_cycles_are_missing_between_them();
  rejected_commands_count_as_none();
  a_second_source_damps_in_the_same_cycle_until_it_is_gone();
  a_second_source_is_seen_by_what_it_sends_also_when_that_is_rejected();
  a_successor_after_silence_is_no_second_source();
  an_unknown_velocity_lets_its_joint_fade_and_damps_the_others();
  an_activation_begins_anew();
  torques_above_the_limit_are_cut();
  settings_that_make_no_sense_are_refused();
  a_label_in_another_order_or_of_fewer_joints_is_for_others();
  return 0;
}

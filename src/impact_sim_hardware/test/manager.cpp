// Stand-in for a controller manager: reads orders, one a line, and does to an exchange what the hardware does.
//
//   attach             -> attached | absent | refused: REASON
//   read MILLISECONDS  -> sample NUMBER POSITION VELOCITY EFFORT of the second joint | timeout | gone
//   pass PERIODS       -> as read, once the simulator went on from the last sample for so many periods
//   pace NANOSECONDS... -> missed PERIODS..., of cycles at these times, the first of which sets the pace
//   write STAMP COMMANDED EFFORT...  -> written
//   run CYCLES         -> ran, or what ended it: each cycle answers effort 1 with the number of the sample, effort 2
//                         with its position, velocity + effort with effort 3, without a pause
//   keep CYCLES        -> kept PERIODS LATE: cycles of 1 kHz that make up for missed periods; those that the arm went on
//                         for, and those by which it is late at the end; or what ended them
//   detach             -> detached
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "impact_sim_hardware/exchange.hpp"

using namespace impact_sim_hardware;

namespace
{

const char * words_of(Wait wait) { return wait == Wait::GONE ? "gone" : "timeout"; }

std::string run(Exchange & exchange, std::uint64_t cycles)
{
  for (std::uint64_t i = 0; i < cycles; ++i) {
    const Wait wait = exchange.await(20'000'000'000);
    if (wait != Wait::SAMPLE) {
      return words_of(wait);
    }
    const Sample & sample = exchange.sample();
    const auto number = sample.sequence.load();
    exchange.answer(
      static_cast<std::int64_t>(i), true,
      {static_cast<double>(number), sample.position[0], sample.velocity[0] + sample.effort[0]});
  }
  return "ran";
}

std::string keep(Exchange & exchange, std::uint64_t cycles)
{
  Pace pace;
  std::uint64_t periods = 0;
  timespec due{};
  clock_gettime(CLOCK_MONOTONIC, &due);
  for (std::uint64_t i = 0; i < cycles; ++i) {
    const Wait wait = exchange.await_present(pace, 20'000'000'000);
    if (wait != Wait::SAMPLE) {
      return words_of(wait);
    }
    periods = static_cast<std::uint64_t>(exchange.sample().position[0]);
    exchange.answer(static_cast<std::int64_t>(i), true, {});
    due.tv_nsec += PERIOD;
    if (due.tv_nsec >= 1'000'000'000) {
      due.tv_nsec -= 1'000'000'000;
      ++due.tv_sec;
    }
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, nullptr);
  }
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  std::ostringstream kept;
  kept << "kept " << periods << " " << pace.missed(now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec);
  return kept.str();
}

std::string obey(Exchange & exchange, std::istringstream & order)
{
  std::string verb;
  order >> verb;
  std::ostringstream answer;
  if (verb == "attach") {
    try {
      answer << (exchange.attach() ? "attached" : "absent");
    } catch (const std::runtime_error & error) {
      answer << "refused: " << error.what();
    }
  } else if (verb == "pace") {
    answer << "missed";
    Pace pace;
    std::int64_t now = 0;
    order >> now;
    for (std::uint64_t periods = 0; order; order >> now) {
      pace.read(periods, now);
      const std::uint64_t missed = pace.missed(now);
      answer << " " << missed;
      pace.read(missed, now);
      periods = 1;
    }
  } else if (verb == "read" || verb == "pass") {
    std::int64_t number = 0;
    order >> number;
    const bool waits = verb == "read";
    const Wait wait = waits ? exchange.await(number * 1'000'000)
                            : exchange.let_pass(static_cast<std::uint64_t>(number), 20'000'000'000);
    if (wait == Wait::SAMPLE) {
      const Sample & sample = exchange.sample();
      answer << "sample " << sample.sequence.load() << " " << sample.position[1] << " " << sample.velocity[1] << " "
             << sample.effort[1];
    } else {
      answer << words_of(wait);
    }
  } else if (verb == "write") {
    std::int64_t stamp = 0;
    bool commanded = false;
    Vector effort{};
    order >> stamp >> commanded;
    for (std::size_t i = 0; i < MAX_JOINTS && order >> effort[i]; ++i) {
    }
    exchange.answer(stamp, commanded, effort);
    answer << "written";
  } else if (verb == "run") {
    std::uint64_t cycles = 0;
    order >> cycles;
    answer << run(exchange, cycles);
  } else if (verb == "keep") {
    std::uint64_t cycles = 0;
    order >> cycles;
    answer << keep(exchange, cycles);
  } else {
    exchange.detach();
    answer << "detached";
  }
  return answer.str();
}

}  // namespace

/// Arguments: name of the segment, names of the joints.
int main(int count, char ** arguments)
{
  try {
    Exchange exchange(arguments[1], std::vector<std::string>(arguments + 2, arguments + count));
    for (std::string line; std::getline(std::cin, line);) {
      std::istringstream order(line);
      std::cout << obey(exchange, order) << std::endl;
    }
  } catch (const std::invalid_argument & error) {
    std::cout << error.what() << std::endl;
    return 2;
  }
  return 0;
}

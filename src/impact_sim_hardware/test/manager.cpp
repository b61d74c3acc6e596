// Stand-in for a controller manager: reads orders, one a line, and does to an exchange what the hardware does.
//
//   attach             -> attached | absent | refused: REASON
//   read MILLISECONDS  -> sample NUMBER POSITION VELOCITY EFFORT of the second joint | timeout | gone
//   write COMMANDED EFFORT...  -> written
//   run CYCLES         -> ran, or what ended it: each cycle answers effort 1 with the number of the sample, effort 2
//                         with its position, velocity + effort with effort 3, without a pause
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
    exchange.answer(true, {static_cast<double>(number), sample.position[0], sample.velocity[0] + sample.effort[0]});
  }
  return "ran";
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
  } else if (verb == "read") {
    std::int64_t milliseconds = 0;
    order >> milliseconds;
    const Wait wait = exchange.await(milliseconds * 1'000'000);
    if (wait == Wait::SAMPLE) {
      const Sample & sample = exchange.sample();
      answer << "sample " << sample.sequence.load() << " " << sample.position[1] << " " << sample.velocity[1] << " "
             << sample.effort[1];
    } else {
      answer << words_of(wait);
    }
  } else if (verb == "write") {
    bool commanded = false;
    Vector effort{};
    order >> commanded;
    for (std::size_t i = 0; i < MAX_JOINTS && order >> effort[i]; ++i) {
    }
    exchange.answer(commanded, effort);
    answer << "written";
  } else if (verb == "run") {
    std::uint64_t cycles = 0;
    order >> cycles;
    answer << run(exchange, cycles);
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

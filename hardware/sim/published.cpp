// Feeds the model of the published switch: published OVERHEAD QUANTUM CLOCK_MHZ FRAMES SIZE... with one size on four ports;
// `mixed` in place of a size is the smallest frames on port 0 and the longest on the others. OVERHEAD and QUANTUM are those
// of published.sv; FRAMES counts those of the slowest port. Prints size, frames sent, frames lost, and the fraction of the line rate that left; `mixed` prints that
// of port 0.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "Vpublished.h"
#include "verilated.h"

namespace {
constexpr int PORTS = 4;

struct Arbiter {
  uint8_t overhead;
  uint16_t quantum;
};

void run(Arbiter arbiter, double mhz, uint64_t frames, const uint32_t (&sizes)[PORTS], const char* name, int only) {
  auto top = std::make_unique<Vpublished>();
  auto tick = [&top] {
    top->clk = 0;
    top->eval();
    top->clk = 1;
    top->eval();
  };
  top->overhead = arbiter.overhead;
  top->quantum = arbiter.quantum;
  top->rst = 1;
  tick();
  top->rst = 0;
  double period[PORTS], due[PORTS], slowest = 0;
  uint64_t sent[PORTS] = {}, lost[PORTS] = {};
  for (int p = 0; p < PORTS; p++) {
    period[p] = (sizes[p] + 24) * 0.8 * mhz / 1000.0;
    due[p] = p * period[p] / PORTS;
    slowest = std::max(slowest, period[p]);
  }
  auto cycles = static_cast<uint64_t>(static_cast<double>(frames) * slowest);
  for (uint64_t now = 0; now < cycles; now++) {
    uint8_t arrives = 0;
    uint64_t lens = 0;
    for (int p = 0; p < PORTS; p++) {
      if (static_cast<double>(now) >= due[p]) {
        due[p] += period[p];
        arrives |= 1 << p;
        sent[p]++;
      }
      lens |= static_cast<uint64_t>(sizes[p]) << (11 * p);
    }
    top->arrives = arrives;
    top->len = lens;
    top->clk = 0;
    top->eval();
    for (int p = 0; p < PORTS; p++) lost[p] += top->lost >> p & 1;
    top->clk = 1;
    top->eval();
  }
  uint64_t all = 0, gone = 0;
  for (int p = 0; p < PORTS; p++) {
    if (only >= 0 && p != only) continue;
    all += sent[p];
    gone += lost[p];
  }
  printf("%s %llu %llu %.4f\n", name, static_cast<unsigned long long>(all), static_cast<unsigned long long>(gone),
         1.0 - static_cast<double>(gone) / static_cast<double>(all));
}
}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    fprintf(stderr, "usage: published OVERHEAD QUANTUM CLOCK_MHZ FRAMES SIZE... (`mixed` is a size, too)\n");
    return 2;
  }
  Arbiter arbiter{static_cast<uint8_t>(atoi(argv[1])), static_cast<uint16_t>(atoi(argv[2]))};
  double mhz = atof(argv[3]);
  uint64_t frames = strtoull(argv[4], nullptr, 10);
  for (int n = 5; n < argc; n++) {
    if (strcmp(argv[n], "mixed") == 0) {
      run(arbiter, mhz, frames, {64, 1514, 1514, 1514}, "mixed", 0);
      continue;
    }
    auto size = static_cast<uint32_t>(strtoul(argv[n], nullptr, 10));
    if (size < 64 || size > 1514) {
      fprintf(stderr, "published: %s is not a size from 64 to 1514\n", argv[n]);
      return 2;
    }
    run(arbiter, mhz, frames, {size, size, size, size}, argv[n], -1);
  }
  return 0;
}

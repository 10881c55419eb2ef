// Drives all ports at full line rate with frames of one size and looks for loss: the method of the artifact evaluation.
//
//   CLOCK_MHZ FRAMES SIZE...   (a size may be a range FIRST-LAST or FIRST-LAST/STEP)
//
// Each port sends frames of SIZE bytes without check sequence, 24 B of check sequence, preamble and gap apart, at 10 Gb/s,
// to its neighbour. A beat that finds the switch not ready waits in a buffer of one frame, as in a MAC; a frame that comes
// while that is still full is lost. Lines take a frame in the time that it has on the wire. Prints one line for each size:
// frames sent, lost, delivered wrong and never delivered, the largest backlog in frames in each half of the run, and the fraction of the line rate that left.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "simulated.hpp"

namespace {
constexpr uint32_t OVERHEAD = 24, WARM = 64;

struct Port {
  double due = 0;          // when the next frame arrives
  uint64_t arrived = 0, sent = 0, lost = 0, left = 0, wrong = 0;
  uint32_t at = 0;         // byte of the frame that is being given
  bool giving = false;
  double line_free = 0;    // when the line takes the next frame
  bool line_busy = false;
  uint32_t out_at = 0;
  uint64_t first_out = 0, last_out = 0, counted = 0;
};

class Bench : Simulated {
 public:
  void run(double mhz, uint64_t frames, uint32_t size) {
    start();
    double period = (size + OVERHEAD) * 0.8 * mhz / 1000.0;  // cycles for a frame on the wire
    Port ports[PORTS];
    for (int p = 0; p < PORTS; p++) ports[p].due = p * period / PORTS;
    uint64_t cycles = 0, backlog[2] = {0, 0}, total = frames + WARM;
    double end = static_cast<double>(total) * period * 1.5 + 2000;
    while (cycles < end) {
      bool finished = true;
      for (auto& port : ports) finished &= port.left + port.lost >= total;
      if (finished) break;
      cycle(ports, static_cast<double>(cycles), period, size, total);
      for (const auto& port : ports) {
        uint64_t inside = port.arrived - port.lost - port.left;
        auto& most = backlog[port.arrived * 2 >= total];
        if (port.arrived < total && inside > most) most = inside;
      }
      cycles++;
    }
    uint64_t lost = 0, wrong = 0, left = 0;
    double rate = 1;
    for (const auto& port : ports) {
      lost += port.lost;
      wrong += port.wrong;
      left += port.left;
      double span = static_cast<double>(port.last_out - port.first_out);
      rate = std::min(rate, port.counted > 1 ? (port.counted - 1) * period / span : 0.0);
    }
    printf("%u %llu %llu %llu %llu %llu %llu %.4f\n", size, static_cast<unsigned long long>(PORTS * total),
           static_cast<unsigned long long>(lost), static_cast<unsigned long long>(wrong),
           static_cast<unsigned long long>(PORTS * total - lost - left), static_cast<unsigned long long>(backlog[0]),
           static_cast<unsigned long long>(backlog[1]), rate);
  }

 private:
  void start() {
    reset();
    // The switch gives no cells back while it clears its counts after reset (releaser.sv).
    for (int n = 0; n < 600; n++) tick();
    for (uint8_t p = 0; p < PORTS; p++) {
      uint8_t base = static_cast<uint8_t>(0x40 + 4 * p);
      write(base, p);
      write(base + 1, 1 << 16 | 0x0200);
      write(base + 2, p);
      write(base + 3, 0xffff);
    }
  }

  // An NDP data frame from port p to its neighbour: a switch that has no room would trim it.
  static uint8_t byte_of(int from, uint32_t at, uint32_t size) {
    uint32_t ip = size - 14, udp = size - 34;
    const uint8_t head[] = {2, 0, 0, 0, 0, static_cast<uint8_t>((from + 1) % PORTS), 2, 0, 0, 0, 0,
                            static_cast<uint8_t>(from), 8, 0, 0x45, 3 << 2, static_cast<uint8_t>(ip >> 8),
                            static_cast<uint8_t>(ip), 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0xc0, 0,
                            0xee, 0x48, static_cast<uint8_t>(udp >> 8), static_cast<uint8_t>(udp)};
    return at < sizeof head ? head[at] : static_cast<uint8_t>(at * 7 + from);
  }

  void cycle(Port* ports, double now, double period, uint32_t size, uint64_t total) {
    uint8_t valid = 0, last = 0, ready = 0;
    uint32_t empty = 0;
    for (int p = 0; p < PORTS; p++) {
      Port& port = ports[p];
      if (port.arrived < total && now >= port.due) {
        port.due += period;
        port.arrived++;
        if (port.giving) port.lost++;
        else {
          port.giving = true;
          port.at = 0;
        }
      }
      if (port.giving) {
        uint8_t beat[BEAT] = {};
        uint32_t used = std::min<uint32_t>(BEAT, size - port.at);
        for (uint32_t n = 0; n < used; n++) beat[n] = byte_of(p, port.at + n, size);
        memcpy(&top->rx_data[p * WORDS], beat, BEAT);
        valid |= 1 << p;
        if (port.at + BEAT >= size) {
          last |= 1 << p;
          empty |= (BEAT - used) << (p * EMPTY_BITS);
        }
      }
      if (port.line_busy || now >= port.line_free) ready |= 1 << p;
    }
    top->rx_valid = valid;
    top->rx_last = last;
    top->rx_empty = empty;
    top->rx_wrong = 0;
    top->tx_ready = ready;
    top->clk = 0;
    top->eval();
    uint8_t in = top->rx_valid & top->rx_ready, out = top->tx_valid & top->tx_ready;
    for (int p = 0; p < PORTS; p++) {
      if (in >> p & 1) {
        ports[p].at += BEAT;
        if (last >> p & 1) {
          ports[p].giving = false;
          ports[p].sent++;
        }
      }
      if (out >> p & 1) take(ports, p, now, period, size);
    }
    top->clk = 1;
    top->eval();
  }

  void take(Port* ports, int p, double now, double period, uint32_t size) {
    Port& port = ports[p];
    int from = (p + PORTS - 1) % PORTS;
    if (!port.line_busy) {
      port.line_busy = true;
      port.out_at = 0;
      port.line_free = std::max(port.line_free, now - 1) + period;
    }
    const auto* beat = reinterpret_cast<const uint8_t*>(&top->tx_data[p * WORDS]);
    bool last = top->tx_last >> p & 1, same = true;
    for (uint32_t n = 0; n < BEAT && port.out_at + n < size; n++)
      same &= beat[n] == byte_of(from, port.out_at + n, size);
    port.out_at += BEAT;
    if (last) {
      port.line_busy = false;
      port.left++;
      uint32_t unused = top->tx_empty >> (p * EMPTY_BITS) & (BEAT - 1);
      same &= port.out_at - unused == size;
      if (port.left > WARM / 2) {
        if (port.counted++ == 0) port.first_out = static_cast<uint64_t>(now);
        port.last_out = static_cast<uint64_t>(now);
      }
    }
    if (!same) port.wrong++;
  }
};
}  // namespace

int line_rate(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: %s CLOCK_MHZ FRAMES SIZE...\n", argv[0]);
    return 2;
  }
  double mhz = atof(argv[1]);
  uint64_t frames = strtoull(argv[2], nullptr, 10);
  Bench bench;
  for (int n = 3; n < argc; n++) {
    unsigned first = 0, last = 0, step = 1;
    int read = sscanf(argv[n], "%u-%u/%u", &first, &last, &step);
    if (read < 1 || first < 64 || (read >= 2 && last > 1664) || step == 0) {
      fprintf(stderr, "line rate: %s is not a size from 64 to 1664, FIRST-LAST or FIRST-LAST/STEP\n", argv[n]);
      return 2;
    }
    for (unsigned size = first; size <= (read >= 2 ? last : first); size += step) bench.run(mhz, frames, size);
  }
  return 0;
}

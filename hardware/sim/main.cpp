// Drives the switch with frames from standard input and writes what happened to standard output, for the Rust reference to
// follow (crates/hardware, `agreement`). Both streams are little-endian. With arguments it measures the line rate in place of
// that (line_rate.cpp).
//
// In:  u64 seed; u8 pace (enum Pace); u16 count of settings, each u8 address and u32 value; then frames: u8 port, u16 gap in cycles before
//      it, u8 "check sequence is wrong", u16 length, bytes. Port 255 ends.
// Out: 'R' u8 from, u8 mask, u16 verdicts (3 bits for each port), u8 coins: a frame was offered to the queues of the mask
//      'T' u8 port: a frame went into service; 'D' u8 port: it has left the packet memory
//      'O' u8 port, u16 length, bytes: a frame left the switch
//      'C' u8 port, u8 number, u32 value; 'E' u64 cycles
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "simulated.hpp"

int line_rate(int argc, char** argv);

namespace {
constexpr uint64_t STALL_CYCLES = 2000000;
// A port listens again within so many cycles, whatever the lines do.
constexpr uint32_t DEAF_CYCLES = 500;

// As in crates/hardware/src/agreement/profile.rs.
enum Pace : uint8_t { FULL, PAUSES, STOPS };
constexpr uint64_t STOPPED = 4000, MOVING = 2000;  // cycles, of lines that stop together

struct Random {
  uint64_t state;
  uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1dULL >> 11;
  }
  bool one_in(uint32_t n) { return next() % n == 0; }
};

struct Frame {
  uint16_t gap;
  bool wrong;
  std::vector<uint8_t> bytes;
};

[[noreturn]] void fail(const std::string& why) {
  fprintf(stderr, "simulation: %s\n", why.c_str());
  exit(1);
}

template <typename T>
T get() {
  T value;
  if (fread(&value, sizeof value, 1, stdin) != 1) fail("the input ends in the middle of a record");
  return value;
}

void put(const void* data, size_t size) {
  if (fwrite(data, 1, size, stdout) != size) fail("cannot write to standard output");
}

template <typename T>
void put(T value) {
  put(&value, sizeof value);
}

// What a port of the test bench does on the way in and on the way out.
struct Port {
  std::deque<Frame> frames;
  size_t at = 0;        // byte of the first frame
  uint32_t gap = 0;     // cycles to wait
  bool valid = false;   // a beat is offered
  uint32_t deaf = 0;    // cycles for which it has not been taken
  std::vector<uint8_t> leaving;
  uint32_t paused = 0;  // cycles for which the line takes nothing
};

class Bench : Simulated {
 public:
  void run() {
    random.state = get<uint64_t>() | 1;
    pace = get<uint8_t>();
    if (pace > STOPS) fail("there is no pace " + std::to_string(pace));
    reset();
    for (int left = get<uint16_t>(); left > 0; left--) {
      uint8_t address = get<uint8_t>();
      write(address, get<uint32_t>());
    }
    uint64_t quiet = 0;
    while (quiet < 2000) {
      read_frames();
      quiet = cycle() ? 0 : quiet + 1;
      if (cycles - moved > STALL_CYCLES) fail("no beat has moved for " + std::to_string(STALL_CYCLES) + " cycles");
    }
    if (held) fail("a frame was offered to fewer queues than it was routed to");
    // An empty switch keeps cells for the next frames ready at each port: two first ones and one place for a payload.
    if (top->heads_out != 2 * PORTS || top->bodies_out != PORTS)
      fail("of an empty switch " + std::to_string(top->heads_out) + " first cells and " + std::to_string(top->bodies_out) +
           " places for payloads are not free, " + std::to_string(2 * PORTS) + " and " + std::to_string(PORTS) + " at its ports");
    counters();
    put('E');
    put(cycles);
  }

 private:
  Random random{1};
  uint8_t pace = FULL;
  Port ports[PORTS];
  bool ended = false;
  uint64_t moved = 0;
  // The frame that is being offered.
  bool held = false;
  uint8_t from = 0, mask = 0, done_mask = 0, coins = 0;
  uint16_t verdicts = 0;
  std::string later;  // records that come behind the one of this frame

  void read_frames() {
    auto wants = [this] {
      for (auto& port : ports)
        if (port.frames.size() < 2) return true;
      return false;
    };
    while (!ended && wants()) {
      uint8_t port = get<uint8_t>();
      if (port == 255) {
        ended = true;
        return;
      }
      if (port >= PORTS) fail("port " + std::to_string(port) + " is not there");
      Frame frame{get<uint16_t>(), get<uint8_t>() != 0, {}};
      frame.bytes.resize(get<uint16_t>());
      if (frame.bytes.empty() || fread(frame.bytes.data(), 1, frame.bytes.size(), stdin) != frame.bytes.size())
        fail("a frame is empty or cut short");
      ports[port].frames.push_back(std::move(frame));
    }
  }

  void offer_beats() {
    uint8_t valid = 0, last = 0, wrong = 0;
    uint32_t empty = 0;
    for (int p = 0; p < PORTS; p++) {
      Port& port = ports[p];
      if (!port.valid && !port.frames.empty()) {
        Frame& frame = port.frames.front();
        if (port.at == 0 && port.gap == 0 && frame.gap > 0) {
          port.gap = frame.gap;
          frame.gap = 0;
        }
        if (port.gap > 0) port.gap--;
        else if (pace == PAUSES && random.one_in(60)) port.gap = static_cast<uint32_t>(random.next() % 40);  // within a frame, too
        else port.valid = pace != PAUSES || !random.one_in(6);
      }
      if (!port.valid) continue;
      const Frame& frame = port.frames.front();
      size_t left = frame.bytes.size() - port.at, used = left < BEAT ? left : BEAT;
      uint8_t beat[BEAT];
      for (int n = 0; n < BEAT; n++) beat[n] = static_cast<uint8_t>(0xa5 ^ n);  // what lies behind the end
      memcpy(beat, frame.bytes.data() + port.at, used);
      memcpy(&top->rx_data[p * WORDS], beat, BEAT);
      valid |= 1 << p;
      if (left <= BEAT) {
        last |= 1 << p;
        empty |= static_cast<uint32_t>((BEAT - used) << (EMPTY_BITS * p));
        if (frame.wrong) wrong |= 1 << p;
      }
    }
    top->rx_valid = valid;
    top->rx_last = last;
    top->rx_empty = empty;
    top->rx_wrong = wrong;
  }

  void choose_ready() {
    uint8_t ready = 0;
    for (int p = 0; p < PORTS; p++) {
      Port& port = ports[p];
      if (port.paused > 0) port.paused--;
      else if (pace == PAUSES && random.one_in(300)) port.paused = static_cast<uint32_t>(random.next() % 600);
      else if (pace != PAUSES || !random.one_in(4)) ready |= 1 << p;
    }
    if (pace == STOPS && cycles % (STOPPED + MOVING) < STOPPED) ready = 0;
    top->tx_ready = ready;
    top->coin = random.next() & 1;
  }

  bool cycle() {
    offer_beats();
    choose_ready();
    top->clk = 0;
    top->eval();
    uint8_t in = top->rx_valid & top->rx_ready, out = top->tx_valid & top->tx_ready;
    events();
    bool active = in || out || top->rx_valid || top->tx_valid || top->routed_valid || !ended;
    for (int p = 0; p < PORTS; p++) {
      if (in >> p & 1) accept(ports[p]);
      else if (ports[p].valid && ++ports[p].deaf > DEAF_CYCLES)
        fail("port " + std::to_string(p) + " has not listened for " + std::to_string(DEAF_CYCLES) + " cycles");
      if (out >> p & 1) collect(p);
    }
    if (in || out || (top->rx_valid == 0 && ended)) moved = cycles;
    top->clk = 1;
    top->eval();
    cycles++;
    for (auto& port : ports) active |= !port.frames.empty();
    return active;
  }

  static void accept(Port& port) {
    port.valid = false;
    port.deaf = 0;
    port.at += BEAT;
    if (port.at < port.frames.front().bytes.size()) return;
    port.at = 0;
    port.frames.pop_front();
  }

  void collect(int p) {
    Port& port = ports[p];
    bool last = top->tx_last >> p & 1;
    size_t used = BEAT - (last ? top->tx_empty >> (EMPTY_BITS * p) & (BEAT - 1) : 0);
    const auto* beat = reinterpret_cast<const uint8_t*>(&top->tx_data[p * WORDS]);
    port.leaving.insert(port.leaving.end(), beat, beat + used);
    if (!last) return;
    size_t size = port.leaving.size();
    std::string record{'O', static_cast<char>(p), static_cast<char>(size), static_cast<char>(size >> 8)};
    record.append(port.leaving.begin(), port.leaving.end());
    port.leaving.clear();
    // Its service may have ended behind the record of the frame that is being offered.
    tell(record, !later.empty());
  }

  // A frame that goes to several queues is offered over several cycles. For the reference it is one event, so what happens
  // meanwhile at a queue that it was offered to already is told after it.
  void events() {
    if (top->routed_valid) {
      if (held) fail("a frame was routed while another one was being offered");
      held = true;
      from = top->routed_from;
      mask = top->routed_to;
      done_mask = coins = 0;
      verdicts = 0;
    }
    if (top->offer_valid) {
      if (!held || !(mask >> top->offer_port & 1)) fail("a frame was offered to a queue that it was not routed to");
      done_mask |= 1 << top->offer_port;
      coins |= top->offer_coin << top->offer_port;
      verdicts |= static_cast<uint16_t>(top->offer_verdict << (3 * top->offer_port));
    }
    for (uint8_t p = 0; p < PORTS; p++) {
      bool offered = held && done_mask >> p & 1;
      if (top->done >> p & 1) tell({'D', static_cast<char>(p)}, offered);
      if (top->taken >> p & 1) tell({'T', static_cast<char>(p)}, offered);
    }
    if (held && done_mask == mask) {
      held = false;
      put('R');
      put(from);
      put(mask);
      put(verdicts);
      put(coins);
      put(later.data(), later.size());
      later.clear();
    }
  }

  void tell(const std::string& record, bool behind) {
    if (behind) later += record;
    else put(record.data(), record.size());
  }

  void counters() {
    for (uint8_t port = 0; port < PORTS; port++) {
      for (uint8_t number = 0; number < 17; number++) {
        top->host_address = static_cast<uint8_t>(0x80 + 32 * port + number);
        for (int n = 0; n < 6; n++) tick();
        put('C');
        put(port);
        put(number);
        put(static_cast<uint32_t>(top->host_read_data));
      }
    }
  }
};
}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return line_rate(argc, argv);
  Verilated::commandArgs(argc, argv);
  Bench().run();
  return fflush(stdout) == 0 ? 0 : 1;
}

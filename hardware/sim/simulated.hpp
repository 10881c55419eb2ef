// The switch in a simulation: its clock, reset and registers, and the shape of its streams.
#pragma once

#include <cstdint>
#include <memory>

#include "Vhost_switch.h"
#include "verilated.h"

constexpr int PORTS = SWITCH_PORTS;
constexpr int BEAT = sizeof(Vhost_switch::rx_data) / PORTS, WORDS = BEAT / 4, EMPTY_BITS = BEAT == 16 ? 4 : 5;

class Simulated {
 protected:
  std::unique_ptr<Vhost_switch> top = std::make_unique<Vhost_switch>();
  uint64_t cycles = 0;

  void tick() {
    top->clk = 0;
    top->eval();
    top->clk = 1;
    top->eval();
    cycles++;
  }

  void write(uint8_t address, uint32_t value) {
    top->host_write = 1;
    top->host_address = address;
    top->host_write_data = value;
    tick();
    top->host_write = 0;
  }

  void reset() {
    top->rst = 1;
    top->rx_valid = top->tx_ready = top->host_write = top->coin = 0;
    for (int n = 0; n < 4; n++) tick();
    top->rst = 0;
  }
};

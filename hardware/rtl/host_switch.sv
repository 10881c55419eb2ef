// The switch with its registers: what a board's top level or a test bench connects.
module host_switch
  import pullnet_pkg::*;
#(
    parameter int W = 128,
    parameter int PORTS = 4,
    parameter bit NDP = 1'b1,
    parameter int DATA_DEPTH = 8,
    parameter int CONTROL_DEPTH = 64,
    parameter int RX_DEPTH = 256,
    parameter int TX_DEPTH = 64
) (
    input logic clk,
    input logic rst,
    input logic coin,
    input logic host_write,
    input logic [7:0] host_address,
    input logic [31:0] host_write_data,
    output logic [31:0] host_read_data,
    input logic [PORTS-1:0] rx_valid,
    output logic [PORTS-1:0] rx_ready,
    input logic [PORTS-1:0][W-1:0] rx_data,
    input logic [PORTS-1:0] rx_last,
    input logic [PORTS-1:0][$clog2(W/8)-1:0] rx_empty,
    input logic [PORTS-1:0] rx_wrong,
    output logic [PORTS-1:0] tx_valid,
    input logic [PORTS-1:0] tx_ready,
    output logic [PORTS-1:0][W-1:0] tx_data,
    output logic [PORTS-1:0] tx_last,
    output logic [PORTS-1:0][$clog2(W/8)-1:0] tx_empty,
    output logic routed_valid,
    output logic [2:0] routed_from,
    output logic [PORTS-1:0] routed_to,
    output logic offer_valid,
    output logic [2:0] offer_port,
    output verdict_t offer_verdict,
    output logic offer_coin,
    output logic [PORTS-1:0] taken,
    output logic [PORTS-1:0] done
);
  localparam int FIXED = 8;
  config_t cfg;
  entry_t [FIXED-1:0] fixed;
  logic [6:0] counter_address;
  logic [31:0] counter_value;
  registers #(.FIXED(FIXED)) host (
      .clk, .rst, .write(host_write), .address(host_address), .write_data(host_write_data),
      .read_data(host_read_data), .cfg, .fixed, .counter_address, .counter_value
  );
  switch #(
      .W(W), .PORTS(PORTS), .NDP(NDP), .DATA_DEPTH(DATA_DEPTH), .CONTROL_DEPTH(CONTROL_DEPTH),
      .RX_DEPTH(RX_DEPTH), .TX_DEPTH(TX_DEPTH), .FIXED(FIXED)
  ) core (
      .clk, .rst, .cfg, .fixed, .coin, .rx_valid, .rx_ready, .rx_data, .rx_last, .rx_empty, .rx_wrong, .tx_valid,
      .tx_ready, .tx_data, .tx_last, .tx_empty, .counter_address, .counter_value, .routed_valid, .routed_from,
      .routed_to, .offer_valid, .offer_port, .offer_verdict, .offer_coin, .taken, .done
  );
endmodule

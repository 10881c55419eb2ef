// For place and route: a module between shift registers, so that its ports need few pins and none of its logic is removed.
module top_ecp5
  import pullnet_pkg::*;
#(
    parameter int PORTS = 4,
    parameter bit NDP = 1'b1,
    parameter int W = 128
) (
    input logic clk,
    input logic rst,
    input logic in,
    output logic out
);
  localparam int E = $clog2(W / 8);
  localparam int IN = 41 + PORTS * (4 + W + E);
  localparam int OUT = 32 + PORTS * (3 + W + E);
  logic [IN-1:0] from_pin;
  logic [OUT-1:0] to_pin, seen;
  // The coin: one bit of a linear-feedback shift register of 31 bits.
  logic [30:0] chance;
  logic reset;
  always_ff @(posedge clk) begin
    from_pin <= {from_pin[IN-2:0], in};
    seen <= from_pin[0] ? to_pin : {seen[OUT-2:0], 1'b0};
    out <= seen[OUT-1];
    reset <= rst;
    chance <= reset ? 31'd1 : {chance[29:0], chance[30] ^ chance[27]};
  end
  host_switch #(.W(W), .PORTS(PORTS), .NDP(NDP)) dut (
      .clk, .rst(reset), .coin(chance[0]),
      .host_write(from_pin[0]), .host_address(from_pin[8:1]), .host_write_data(from_pin[40:9]),
      .rx_valid(from_pin[41+:PORTS]), .rx_last(from_pin[41+PORTS+:PORTS]), .rx_wrong(from_pin[41+2*PORTS+:PORTS]),
      .tx_ready(from_pin[41+3*PORTS+:PORTS]), .rx_empty(from_pin[41+4*PORTS+:PORTS*E]),
      .rx_data(from_pin[41+PORTS*(4+E)+:PORTS*W]),
      .host_read_data(to_pin[31:0]), .rx_ready(to_pin[32+:PORTS]), .tx_valid(to_pin[32+PORTS+:PORTS]),
      .tx_last(to_pin[32+2*PORTS+:PORTS]), .tx_empty(to_pin[32+3*PORTS+:PORTS*E]),
      .tx_data(to_pin[32+PORTS*(3+E)+:PORTS*W]),
      .routed_valid(), .routed_from(), .routed_to(), .offer_valid(), .offer_port(), .offer_verdict(), .offer_coin(),
      .taken(), .done(), .heads_out(), .bodies_out()
  );
endmodule

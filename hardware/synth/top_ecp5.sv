// For place and route: a module between shift registers, so that its ports need few pins and none of its logic is removed.
module top_ecp5
  import pullnet_pkg::*;
#(
    parameter bit NDP = 1'b1,
    parameter int W = 128
) (
    input logic clk,
    input logic rst,
    input logic in,
    output logic out
);
  localparam int E = $clog2(W / 8);
  localparam int IN = 57 + 4 * (W + E);
  localparam int OUT = 44 + 4 * (W + E);
  logic [IN-1:0] from_pin;
  logic [OUT-1:0] to_pin, seen;
  // The coin: one bit of a linear-feedback shift register of 31 bits.
  logic [30:0] chance;
  always_ff @(posedge clk) begin
    from_pin <= {from_pin[IN-2:0], in};
    seen <= from_pin[0] ? to_pin : {seen[OUT-2:0], 1'b0};
    out <= seen[OUT-1];
    chance <= rst ? 31'd1 : {chance[29:0], chance[30] ^ chance[27]};
  end
  host_switch #(.W(W), .NDP(NDP)) dut (
      .clk, .rst, .coin(chance[0]),
      .host_write(from_pin[0]), .host_address(from_pin[8:1]), .host_write_data(from_pin[40:9]),
      .rx_valid(from_pin[41+:4]), .rx_last(from_pin[45+:4]), .rx_wrong(from_pin[49+:4]),
      .tx_ready(from_pin[53+:4]), .rx_empty(from_pin[57+:4*E]), .rx_data(from_pin[57+4*E+:4*W]),
      .host_read_data(to_pin[31:0]), .rx_ready(to_pin[32+:4]), .tx_valid(to_pin[36+:4]), .tx_last(to_pin[40+:4]),
      .tx_empty(to_pin[44+:4*E]), .tx_data(to_pin[44+4*E+:4*W]),
      .routed_valid(), .routed_from(), .routed_to(), .offer_valid(), .offer_port(), .offer_verdict(), .offer_coin(),
      .taken(), .done()
  );
endmodule

// Skid buffer: both directions of the handshake leave from registers.
module skid #(
    parameter int WIDTH = 8
) (
    input logic clk,
    input logic rst,
    input logic in_valid,
    output logic in_ready,
    input logic [WIDTH-1:0] in_data,
    output logic out_valid,
    input logic out_ready,
    output logic [WIDTH-1:0] out_data
);
  logic full;  // a word waits behind the one at the output
  logic [WIDTH-1:0] spare;

  assign in_ready = !full;

  always_ff @(posedge clk) begin
    if (rst) begin
      out_valid <= 1'b0;
      full <= 1'b0;
    end else if (!out_valid || out_ready) begin
      out_valid <= full || in_valid;
      full <= 1'b0;
    end else if (in_valid && in_ready) begin
      full <= 1'b1;
    end
  end

  always_ff @(posedge clk) begin
    if (!out_valid || out_ready) out_data <= full ? spare : in_data;
    if (in_ready) spare <= in_data;
  end

`ifdef FORMAL
  `include "skid_props.svh"
`endif
endmodule

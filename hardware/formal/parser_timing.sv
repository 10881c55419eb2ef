// Stands in for the parser in the proof of `ingress`: its tickets come when those of the parser do, as the proof of `parser`
// has it, and say nothing.
module parser
  import pullnet_pkg::*;
#(
    parameter int W = 128
) (
    input logic clk,
    input logic rst,
    input config_t cfg,
    input logic valid,
    input logic [W-1:0] data,
    input logic last,
    input logic [$clog2(W/8)-1:0] empty,
    input logic wrong,
    output logic out_valid,
    output ticket_t out
);
  logic [4:0] ends;  // by stage: whether a frame ends there
  always_ff @(posedge clk) begin
    ends <= rst ? '0 : {ends[3:0], valid && last};
    out_valid <= ends[4] && !rst;
  end
  assign out = '0;
endmodule

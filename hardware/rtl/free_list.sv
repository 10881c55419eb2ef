// Numbers of free cells. Each number is given out once until it comes back. After reset the numbers FIRST,
// FIRST + STEP, ... come from a counter, so the list needs no initialisation.
module free_list #(
    parameter int COUNT = 64,
    parameter int FIRST = 0,
    parameter int STEP = 1,
    parameter int WIDTH = 10
) (
    input logic clk,
    input logic rst,
    output logic out_valid,
    input logic out_ready,
    output logic [WIDTH-1:0] out_cell,
    input logic in_valid,
    input logic [WIDTH-1:0] in_cell
);
  localparam int A = $clog2(COUNT);
  logic [A:0] fresh_left;
  logic [WIDTH-1:0] fresh, used;
  logic used_valid, in_ready, take_fresh;

  fifo #(.WIDTH(WIDTH), .DEPTH(2 ** A)) list (
      .clk, .rst, .in_valid, .in_ready, .in_data(in_cell), .out_valid(used_valid),
      .out_ready(out_ready && fresh_left == 0), .out_data(used), .held()
  );

  assign take_fresh = out_ready && fresh_left != 0;
  assign out_valid = fresh_left != 0 || used_valid;
  assign out_cell = fresh_left != 0 ? fresh : used;

  always_ff @(posedge clk) begin
    if (rst) begin
      fresh_left <= (A + 1)'(COUNT);
      fresh <= WIDTH'(FIRST);
    end else if (take_fresh) begin
      fresh_left <= fresh_left - 1'b1;
      fresh <= fresh + WIDTH'(STEP);
    end
  end

`ifdef FORMAL
  `include "free_list_props.svh"
`endif
endmodule

// One port of the reference switch: a drop-tail queue behind the same connections as `trim_queue`.
module tail_queue
  import pullnet_pkg::*;
#(
    parameter int DEPTH = 16  // a power of two
) (
    input logic clk,
    input logic rst,
    input config_t cfg,
    input logic in_valid,
    output logic in_ready,
    input frame_t in,
    output verdict_t verdict,
    output frame_t victim,
    input logic next,
    output logic next_valid,
    output frame_t out,
    input logic done,
    output logic [7:0] held_data
);
  localparam int C = $clog2(DEPTH) + 2;
  logic [C-1:0] count;  // frames that wait
  logic serving, fits, takes, room, there;
  frame_t first;

  // The frame in service takes its share of the room.
  assign fits = room_t'(count) + room_t'(serving) < cfg.data_limit && count < C'(DEPTH);
  assign verdict = fits ? QUEUED : DATA_FULL;
  assign victim = in;
  assign next_valid = next && there;
  assign in_ready = !next_valid && !done;
  assign takes = in_valid && in_ready && fits;
  assign held_data = 8'(count) + 8'(serving);
  fifo #(.WIDTH($bits(frame_t)), .DEPTH(DEPTH)) waiting (
      .clk, .rst, .in_valid(takes), .in_ready(room), .in_data(in), .out_valid(there), .out_ready(next_valid),
      .out_data(first), .held(count)
  );

  always_ff @(posedge clk) begin
    if (next) out <= first;
  end
  always_ff @(posedge clk) begin
    if (rst) serving <= 1'b0;
    else serving <= next_valid || (serving && !done);
  end

`ifdef FORMAL
  `include "tail_queue_props.svh"
`endif
endmodule

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
  localparam int A = $clog2(DEPTH);
  frame_t words[DEPTH];
  logic [A-1:0] head, tail;
  logic [A:0] count;
  logic serving, fits, takes;

  // The frame in service takes its share of the room.
  assign fits = room_t'(count) + room_t'(serving) < cfg.data_limit && count != (A + 1)'(DEPTH);
  assign verdict = fits ? QUEUED : DATA_FULL;
  assign victim = in;
  assign next_valid = next && count != 0;
  assign in_ready = !next_valid && !done;
  assign takes = in_valid && in_ready && fits;
  assign held_data = 8'(count) + 8'(serving);

  always_ff @(posedge clk) begin
    if (takes) words[tail] <= in;
    if (next) out <= words[head];
  end
  always_ff @(posedge clk) begin
    if (rst) begin
      head <= '0;
      tail <= '0;
      count <= '0;
      serving <= 1'b0;
    end else begin
      tail <= tail + A'(takes);
      head <= head + A'(next_valid);
      count <= count + (A + 1)'(takes) - (A + 1)'(next_valid);
      serving <= next_valid || (serving && !done);
    end
  end

`ifdef FORMAL
  `include "tail_queue_props.svh"
`endif
endmodule

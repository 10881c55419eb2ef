// One port of the reference switch: a drop-tail queue behind the same connections as `trim_queue`, with room in frames or
// bytes for frames of every kind.
module tail_queue
  import pullnet_pkg::*;
#(
    parameter int DEPTH = 16  // a power of two
) (
    output logic [7:0] held,  // frames of any kind, waiting and in service
    `include "queue_ports.svh"
);
  localparam int C = $clog2(DEPTH) + 2;
  logic [C-1:0] count, controls;  // frames that wait, and control frames among them
  logic fits, takes, keeps, room, there, control, first_control, serving_control;
  room_t used, serving, in_share, first_share;  // `serving`: share of the frame in service; 0 if there is none
  frame_t first;

  // The frame in service takes its share of the room.
  assign in_share = share(cfg.data_in_bytes, in.len);
  assign first_share = share(cfg.data_in_bytes, first.len);
  assign fits = used + in_share <= cfg.data_limit && count < C'(DEPTH);
  assign control = is_control(in.kind);
  assign first_control = is_control(first.kind);
  assign verdict = fits ? QUEUED : control ? CONTROL_FULL : DATA_FULL;
  assign victim = in;
  assign next_valid = next && there;
  // As in trim_queue: a frame that comes goes before those that leave, which wait for one at most.
  assign takes = in_valid && in_ready;
  assign keeps = takes && fits;
  assign turn = !takes;
  always_ff @(posedge clk) in_ready <= rst || !(takes && wants);
  assign held = 8'(count) + 8'(serving != 0);
  assign held_control = 8'(controls);
  assign held_data = 8'(count - controls) + 8'(serving != 0 && !serving_control);
  fifo #(.WIDTH($bits(frame_t)), .DEPTH(DEPTH)) waiting (
      .clk, .rst, .in_valid(keeps), .in_ready(room), .in_data(in), .out_valid(there), .out_ready(next_valid),
      .out_data(first), .held(count)
  );

  always_ff @(posedge clk) begin
    if (next) out <= first;
    if (next_valid) serving_control <= first_control;
  end
  always_ff @(posedge clk) begin
    if (rst) begin
      serving <= '0;
      used <= '0;
      controls <= '0;
    end else begin
      if (next_valid) serving <= first_share;
      else if (done) serving <= '0;
      controls <= controls + C'(keeps && control) - C'(next_valid && first_control);
      used <= used + (keeps ? in_share : '0) - (done ? serving : '0);
    end
  end

`ifdef FORMAL
  `include "tail_queue_props.svh"
`endif
endmodule

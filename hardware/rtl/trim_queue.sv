// One port of a trimming switch: the rule of `pullnet_qdisc::Trim`, step by step. Two queues of frames by reference;
// what a trim does to bytes is noted in the reference and done on the way out.
//
// `next` takes the next frame into service, `done` says that the one in service has left; both may come in one cycle and
// then `done` counts first. No frame is taken in while one is taken out, so the order of events is that of the cycles: both
// come in a cycle of `turn`. A frame that comes goes before them, so that it holds up none behind it that goes to another
// port; but they wait for one frame at most.
module trim_queue
  import pullnet_pkg::*;
#(
    parameter int DATA_DEPTH = 16,     // frames that memory has room for, whatever the limits: powers of two
    parameter int CONTROL_DEPTH = 64,
    parameter int LONG_CONTROL = 3     // control frames of more than MAX_HEADERS bytes that may wait: they take cells of data
) (
    input fit_t in_fit,          // `fit_of(cfg, in)`: known a cycle earlier, so that no sum is in the way of the verdict
    input logic arriving_loses,  // the coin
    output logic victim_cut,     // the victim lost its payload here
    output logic coin_used,
    `include "queue_ports.svh"
);
  localparam int DA = $clog2(DATA_DEPTH);
  localparam int CA = $clog2(CONTROL_DEPTH);
  localparam int LA = $clog2(LONG_CONTROL + 1);

  frame_t data_words[DATA_DEPTH];
  frame_t control_words[CONTROL_DEPTH];
  logic [DA-1:0] data_head, data_tail;
  logic [CA-1:0] control_head, control_tail;
  logic [DA:0] data_count;
  logic [CA:0] control_count;
  logic [LA-1:0] long_count;  // long ones among them
  room_t data_used, control_used;
  room_t serving;      // share of the data frame in service; 0 if there is none
  logic [7:0] round;   // control frames served in this round while data waited
  frame_t newest;      // the newest waiting data frame
  left_t newest_trimmed;  // what the control limit leaves if it is trimmed
  room_t older;        // what of data_used is not the newest's, while data waits

  // Who loses.
  logic control, data_room, data_fits, swap, swap_fits;
  always_comb begin
    control = is_control(in.kind);
    data_room = data_count != (DA + 1)'(DATA_DEPTH);
    data_fits = leaves_room(data_used, in_fit.data) && data_room;
    swap_fits = leaves_room(older, in_fit.data) && data_count != 0;
    coin_used = !control && !data_fits && cfg.coin && swap_fits;
    swap = coin_used && !arriving_loses;
  end

  // What becomes of it.
  frame_t header, loser;
  logic trims, control_room, control_fits, to_control;
  logic whole_fits, arriving_fits, newest_fits, arriving_cut, newest_cut;
  always_comb begin
    arriving_cut = len_t'(in.keep) < in.len;
    newest_cut = len_t'(newest.keep) < newest.len;
    loser = swap ? newest : in;
    trims = !control && !data_fits && loser.kind == DATA;
    header = loser;
    if (trims) begin
      header.cut = swap ? newest_cut : arriving_cut;
      header.len = len_t'(loser.keep);
      header.kind = HEADER;
      header.has_body = 1'b0;
    end
    // All three are compared before it is known who loses.
    whole_fits = leaves_room(control_used, in_fit.control) && !(in_fit.is_long && long_count == LA'(LONG_CONTROL));
    arriving_fits = leaves_room(control_used, in_fit.trimmed);
    newest_fits = leaves_room(control_used, newest_trimmed);
    control_room = control_count != (CA + 1)'(CONTROL_DEPTH);
    control_fits = (control ? whole_fits : swap ? newest_fits : arriving_fits) && control_room;
    to_control = (control || trims) && control_fits;
    victim = trims ? header : loser;
    victim.has_body = loser.has_body;
    victim_cut = trims;
    if (control ? control_fits : data_fits) verdict = QUEUED;
    else if (!control && !trims) verdict = DATA_FULL;
    else if (to_control) verdict = TRIMMED;
    else if (cfg.send_back && header.kind == HEADER) verdict = SENT_BACK;
    else verdict = CONTROL_FULL;
  end

  // Ten control frames for each data frame while both wait; either alone otherwise.
  logic takes, both, data_first, control_next, data_next;
  always_comb begin
    both = data_count != 0 && control_count != 0;
    data_first = both && round >= cfg.control_per_data;
    control_next = next && control_count != 0 && !data_first;
    data_next = next && data_count != 0 && !control_next;
    next_valid = next && (data_count != 0 || control_count != 0);
    takes = in_valid && in_ready;
    turn = !takes;
  end

  always_ff @(posedge clk) in_ready <= rst || !(takes && wants);

  logic push_data, push_control, from_control;
  frame_t data_out, control_out;
  logic long_comes, long_leaves;
  assign push_data = takes && !control && (data_fits || swap);
  assign push_control = takes && to_control;
  logic [DA-1:0] data_at;
  assign data_at = swap ? data_tail - 1'b1 : data_tail;

  always_ff @(posedge clk) begin
    if (push_data) data_words[data_at] <= in;
    if (push_control) control_words[control_tail] <= header;
    if (next) begin
      data_out <= data_words[data_head];
      control_out <= control_words[control_head];
      from_control <= control_next;
    end
    if (push_data) begin
      newest <= in;
      newest_trimmed <= in_fit.trimmed;
    end
  end
  assign out = from_control ? control_out : data_out;

  // Shares of the frames at the fronts. Lengths lie beside the queues, because block RAM gives the frame itself one
  // cycle too late.
  logic [13:0] data_lens[DATA_DEPTH];
  logic [13:0] control_lens[CONTROL_DEPTH];
  room_t leaving_data, leaving_control;
  always_ff @(posedge clk) begin
    if (push_data) data_lens[data_at] <= in.len;
    if (push_control) control_lens[control_tail] <= header.len;
  end
  assign leaving_data = share(cfg.data_in_bytes, data_lens[data_head]);
  assign leaving_control = share(cfg.control_in_bytes, control_lens[control_head]);
  // What a trim leaves is never long.
  assign long_comes = push_control && control && in_fit.is_long;
  assign long_leaves = control_next && control_lens[control_head] > len_t'(MAX_HEADERS);

  always_ff @(posedge clk) begin
    if (rst) begin
      data_head <= '0;
      data_tail <= '0;
      data_count <= '0;
      data_used <= '0;
      control_head <= '0;
      control_tail <= '0;
      control_count <= '0;
      control_used <= '0;
      long_count <= '0;
      older <= '0;
      serving <= '0;
      held_data <= '0;
      round <= '0;
    end else if (takes) begin
      if (push_data && !swap) begin
        held_data <= held_data + 1'b1;
        data_tail <= data_tail + 1'b1;
        data_count <= data_count + 1'b1;
      end
      if (push_data) data_used <= (swap ? older : data_used) + share(cfg.data_in_bytes, in.len);
      if (push_data && !swap) older <= data_used;
      if (push_control) begin
        control_tail <= control_tail + 1'b1;
        control_count <= control_count + 1'b1;
        control_used <= control_used + share(cfg.control_in_bytes, header.len);
      end
      long_count <= long_count + LA'(long_comes);
    end else begin
      if (next && both) round <= data_first ? '0 : round + 1'b1;
      if (control_next) begin
        control_head <= control_head + 1'b1;
        control_count <= control_count - 1'b1;
        control_used <= control_used - leaving_control;
      end
      long_count <= long_count - LA'(long_leaves);
      if (data_next) begin
        data_head <= data_head + 1'b1;
        data_count <= data_count - 1'b1;
      end
      if (done && serving != 0) held_data <= held_data - 1'b1;
      if (done) begin
        data_used <= data_used - serving;
        older <= older - serving;
      end
      if (next_valid) serving <= data_next ? leaving_data : '0;
      else if (done) serving <= '0;
    end
  end

  assign held_control = 8'(control_count);

`ifdef FORMAL
  `include "trim_queue_props.svh"
`endif
endmodule

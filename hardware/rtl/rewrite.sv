// Writes headers anew on the way out: marks, lengths and checksum of a frame that was trimmed, exchanged addresses of one
// that goes back, and congestion marks. Beats come without a pause signal; each leaves when the next one of its frame is
// there, because fields move by up to one beat.
module rewrite
  import pullnet_pkg::*;
#(
    parameter int W = 128
) (
    input logic clk,
    input logic rst,
    input config_t cfg,
    input logic load,       // a frame follows, behind those that were loaded before
    input frame_t frame,
    input logic in_valid,
    input logic [W-1:0] in_data,
    input logic in_last,
    output logic out_valid,
    output logic [W-1:0] out_data,
    output logic out_last,
    output logic [$clog2(W/8)-1:0] out_empty
);
  localparam int L = W / 16;
  // What is to be done is known when the first beat is there.
  plan_t plan_in, plan;
  logic load1, plan_ready, plan_valid, plan_pop;
  always_ff @(posedge clk) load1 <= load && !rst;
  header_plan planner (.clk, .cfg, .frame, .plan(plan_in));
  short_fifo #(.WIDTH($bits(plan_t)), .DEPTH(4)) plans (
      .clk, .rst, .in_valid(load1), .in_ready(plan_ready), .in_data(plan_in),
      .out_valid(plan_valid), .out_ready(plan_pop), .out_data(plan), .held()
  );

  // Three beats in a row: half-words of the one before and the one behind are in reach.
  logic [L-1:0][15:0] previous, now, behind;
  logic now_last, behind_valid, behind_last, fresh, advance;
  logic [7:0] beat;
  assign advance = in_valid || (behind_valid && behind_last);
  always_ff @(posedge clk) begin
    if (rst) begin
      behind_valid <= 1'b0;
      fresh <= 1'b0;
      beat <= '0;
    end else begin
      fresh <= advance && behind_valid;
      if (advance) begin
        behind_valid <= in_valid;
      end
      if (fresh) beat <= now_last ? '0 : (beat == 8'hff ? beat : beat + 1'b1);
    end
    if (advance) begin
      behind_last <= in_last;
      now_last <= behind_last;
      for (int lane = 0; lane < L; lane++) behind[lane] <= {in_data[16*lane+:8], in_data[16*lane+8+:8]};
      now <= behind;
      previous <= now;
    end
  end
  assign plan_pop = fresh && now_last;

  logic [3*L-1:0][15:0] near;
  assign near = {behind, now, previous};

  function automatic logic [15:0] marked_sum(input logic [15:0] old, input logic [15:0] delta);
    logic [16:0] sum;
    sum = {1'b0, ~old} + {1'b0, delta};
    marked_sum = ~(sum[15:0] + {15'b0, sum[16]});
  endfunction

  // What is written into a half-word: itself, one that is so many half-words further on or back, or a field. One bit is
  // set. Which ones a lane can ever need is constant, so most of them cost nothing.
  typedef struct packed {
    logic itself, on1, on2, on3, on4, on8, back2, back3, back8;
    logic first4, first6, ip_len, sum, marked_sum, udp_len, zero;
  } source_t;
  // Whether a lane of a beat is this half-word of the frame.
  function automatic logic here(input int lane, input logic [7:0] in_beat, input int half);
    here = half % L == lane && in_beat == 8'(half / L);
  endfunction
  // The same for a half-word of the IP header.
  function automatic logic in_ip(input int lane, input logic [7:0] in_beat, input logic vlan, input int half);
    in_ip = vlan ? here(lane, in_beat, 9 + half) : here(lane, in_beat, 7 + half);
  endfunction
  logic v4, v6;
  logic [5:0] behind_next;  // the half-word 2 * behind_next is the second one of what IP carries
  assign v4 = plan.ip && !plan.ipv6;
  assign v6 = plan.ip && plan.ipv6;
  assign behind_next = 6'(plan.next) + 1'b1;
  source_t [L-1:0] source, source1;
  for (genvar lane = 0; lane < L; lane++) begin : half
    source_t from;
    logic [11:0] at;
    logic next0, next1, next2;  // half-words of what IP carries
    assign at = 12'(beat) * 12'(L) + 12'(lane);
    assign next0 = at == {6'b0, plan.next, 1'b1};
    assign next1 = at == {5'b0, behind_next, 1'b0};
    assign next2 = at == {5'b0, behind_next, 1'b1};
    always_comb begin
      from = '0;
      for (int n = 0; n < 3; n++) from.on3 |= plan.turned && here(lane, beat, n);
      for (int n = 3; n < 6; n++) from.back3 |= plan.turned && here(lane, beat, n);
      from.first4 = v4 && in_ip(lane, beat, plan.vlan, 0);
      from.first6 = v6 && in_ip(lane, beat, plan.vlan, 0);
      from.ip_len = plan.cut && (v4 && in_ip(lane, beat, plan.vlan, 1) || v6 && in_ip(lane, beat, plan.vlan, 2));
      from.sum = v4 && plan.ipv4_sum && in_ip(lane, beat, plan.vlan, 5);
      from.marked_sum = v4 && plan.marked && !plan.ipv4_sum && in_ip(lane, beat, plan.vlan, 5);
      for (int n = 6; n < 8; n++) from.on2 |= plan.turned && v4 && in_ip(lane, beat, plan.vlan, n);
      for (int n = 8; n < 10; n++) from.back2 |= plan.turned && v4 && in_ip(lane, beat, plan.vlan, n);
      for (int n = 4; n < 12; n++) from.on8 |= plan.turned && v6 && in_ip(lane, beat, plan.vlan, n);
      for (int n = 12; n < 20; n++) from.back8 |= plan.turned && v6 && in_ip(lane, beat, plan.vlan, n);
      from.zero = plan.cut && plan.artifact && next1;
      from.udp_len = plan.cut && !plan.artifact && next2;
      from.on1 = plan.turned && next0;
      from.on4 = plan.turned && next1;
      from.itself = from == '0;
    end
    assign source[lane] = from;
  end

  // One cycle later it is written.
  logic chosen, last1;
  logic [3*L-1:0][15:0] near1;
  plan_t plan1;
  always_ff @(posedge clk) begin
    chosen <= fresh && !rst;
    last1 <= now_last;
    near1 <= near;
    plan1 <= plan;
    source1 <= source;
  end
  // The checksum of IPv4 is half-word 12, or 14 behind a VLAN tag.
  logic [15:0] sum_marked;
  assign sum_marked = marked_sum(plan1.vlan ? near1[L+14%L] : near1[L+12%L], plan1.delta);
  logic [L-1:0][15:0] written;
  for (genvar lane = 0; lane < L; lane++) begin : word
    logic [15:0] old;
    source_t from;
    assign old = near1[L+lane];
    assign from = source1[lane];
    assign written[lane] = {16{from.itself}} & old
        | {16{from.on1}} & near1[L+lane+1] | {16{from.on2}} & near1[L+lane+2] | {16{from.on3}} & near1[L+lane+3]
        | {16{from.on4}} & near1[L+lane+4] | {16{from.on8}} & near1[L+lane+8]
        | {16{from.back2}} & near1[L+lane-2] | {16{from.back3}} & near1[L+lane-3] | {16{from.back8}} & near1[L+lane-8]
        | {16{from.first4}} & {4'd4, plan1.ihl, plan1.tos} | {16{from.first6}} & {4'd6, plan1.tos, old[3:0]}
        | {16{from.ip_len}} & plan1.ip_len | {16{from.udp_len}} & plan1.udp_len
        | {16{from.sum}} & plan1.sum | {16{from.marked_sum}} & sum_marked;
  end

  always_ff @(posedge clk) begin
    out_valid <= chosen && !rst;
    out_last <= last1;
    out_empty <= last1 ? ($clog2(W / 8))'(plan1.empty) : '0;
    for (int lane = 0; lane < L; lane++) begin
      out_data[16*lane+:8] <= written[lane][15:8];
      out_data[16*lane+8+:8] <= written[lane][7:0];
    end
  end

`ifdef CHECKS
  always_ff @(posedge clk) begin
    if (!rst && load1) assert (plan_ready);
    if (!rst && fresh) assert (plan_valid);
  end
`endif
endmodule

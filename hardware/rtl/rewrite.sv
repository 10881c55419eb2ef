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
  typedef struct packed {
    logic turned;
    logic cut;
    logic marked;
    logic artifact;
    logic ip;
    logic ipv6;
    logic ipv4_sum;         // the checksum is calculated anew
    logic [5:0] at;         // half-words at which IP and what it carries begin
    logic [5:0] next;
    logic [7:0] tos;
    logic [3:0] ihl;
    logic [15:0] ip_len;
    logic [15:0] udp_len;
    logic [15:0] sum;
    logic [15:0] delta;     // what a congestion mark adds to the checksum (RFC 1624)
    logic [$clog2(W/8)-1:0] empty;
  } plan_t;

  // What is to be done, in two steps while the first beat is on its way.
  plan_t plan0, plan1;
  logic load1;
  logic [7:0] tos;
  logic [1:0] ecn;
  logic [15:0] at_bytes, next_bytes, word, word_before;
  logic [23:0] sum0, sum1;
  logic [16:0] delta0;
  always_comb begin
    ecn = frame.marked ? 2'b11 : frame.tos[1:0];
    tos = {frame.tos[7:2], ecn};
    if (frame.cut && !cfg.artifact) tos = {cfg.dscp[HEADER], ecn};
    if (frame.turned) tos = {cfg.dscp[RETURNED], ecn};
    plan0 = '0;
    plan0.turned = frame.turned;
    plan0.cut = frame.cut;
    plan0.marked = frame.marked;
    plan0.artifact = cfg.artifact;
    plan0.ip = frame.ip;
    plan0.ipv6 = frame.ipv6;
    plan0.ipv4_sum = !frame.ipv6 && (frame.cut || frame.turned);
    plan0.at = frame.vlan ? 6'd9 : 6'd7;
    plan0.next = plan0.at + (frame.ipv6 ? 6'd20 : {1'b0, frame.ihl, 1'b0});
    plan0.tos = tos;
    plan0.ihl = frame.ihl;
    at_bytes = {9'b0, plan0.at, 1'b0};
    next_bytes = {9'b0, plan0.next, 1'b0};
    plan0.udp_len = 16'(frame.len) - next_bytes;
    plan0.ip_len = frame.ipv6 ? plan0.udp_len : 16'(frame.len) - at_bytes;
    plan0.empty = ($clog2(W / 8))'(-frame.len);
    word = {4'd4, frame.ihl, tos};
    word_before = {4'd4, frame.ihl, frame.tos};
    sum0 = 24'(frame.sum) + 24'(word);
    if (frame.cut) sum0 = sum0 + {8'b0, ~frame.ip_len} + {8'b0, plan0.ip_len};
    delta0 = {1'b0, ~word_before} + {1'b0, word};
    plan0.delta = delta0[15:0] + {15'b0, delta0[16]};
  end
  always_ff @(posedge clk) begin
    load1 <= load && !rst;
    plan1 <= plan0;
    sum1 <= sum0;
  end
  plan_t plan_in, plan;
  logic plan_ready, plan_valid, plan_pop;
  always_comb begin
    plan_in = plan1;
    plan_in.sum = ~fold(sum1);
  end
  fifo #(.WIDTH($bits(plan_t)), .DEPTH(4)) plans (
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

  logic [L-1:0][15:0] written;
  for (genvar lane = 0; lane < L; lane++) begin : half
    logic [11:0] at;  // half-word of the frame
    logic [11:0] in_ip, in_next;
    logic [15:0] old, value;
    assign at = 12'(beat) * 12'(L) + 12'(lane);
    assign in_ip = at - 12'(plan.at);
    assign in_next = at - 12'(plan.next);
    assign old = near[L+lane];
    always_comb begin
      value = old;
      if (plan.turned && at < 12'd3) value = near[L+lane+3];
      if (plan.turned && at >= 12'd3 && at < 12'd6) value = near[L+lane-3];
      if (plan.ip && !plan.ipv6) begin
        if (in_ip == 12'd0) value = {4'd4, plan.ihl, plan.tos};
        if (in_ip == 12'd1 && plan.cut) value = plan.ip_len;
        if (in_ip == 12'd5 && plan.ipv4_sum) value = plan.sum;
        else if (in_ip == 12'd5 && plan.marked) value = marked_sum(old, plan.delta);
        if (plan.turned && (in_ip == 12'd6 || in_ip == 12'd7)) value = near[L+lane+2];
        if (plan.turned && (in_ip == 12'd8 || in_ip == 12'd9)) value = near[L+lane-2];
      end
      if (plan.ip && plan.ipv6) begin
        if (in_ip == 12'd0) value = {4'd6, plan.tos, old[3:0]};
        if (in_ip == 12'd2 && plan.cut) value = plan.ip_len;
        if (plan.turned && in_ip >= 12'd4 && in_ip < 12'd12) value = near[L+lane+8];
        if (plan.turned && in_ip >= 12'd12 && in_ip < 12'd20) value = near[L+lane-8];
      end
      if (plan.cut && plan.artifact && in_next == 12'd1) value = '0;
      if (plan.cut && !plan.artifact && in_next == 12'd2) value = plan.udp_len;
      if (plan.turned && in_next == 12'd0) value = near[L+lane+1];
      if (plan.turned && in_next == 12'd1) value = near[L+lane+4];
    end
    assign written[lane] = value;
  end

  always_ff @(posedge clk) begin
    out_valid <= fresh && !rst;
    out_last <= now_last;
    out_empty <= now_last ? plan.empty : '0;
    for (int lane = 0; lane < L; lane++) begin
      out_data[16*lane+:8] <= written[lane][15:8];
      out_data[16*lane+8+:8] <= written[lane][7:0];
    end
  end

`ifdef FORMAL
  always_ff @(posedge clk) begin
    if (!rst && load1) assert (plan_ready);
    if (!rst && fresh) assert (plan_valid);
  end
`endif
endmodule

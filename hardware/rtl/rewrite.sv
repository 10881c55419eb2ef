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

  // What is written into a half-word: itself, one that is so many half-words further on or back, or a field.
  typedef enum logic [3:0] {
    ITSELF, ON1, ON2, ON3, ON4, ON8, BACK2, BACK3, BACK8, FIRST4, FIRST6, IP_LEN, SUM, MARKED_SUM, UDP_LEN, ZERO
  } source_t;
  source_t [L-1:0] source, source1;
  for (genvar lane = 0; lane < L; lane++) begin : half
    logic [11:0] at;  // half-word of the frame
    logic [11:0] in_ip, in_next;
    source_t from;
    assign at = 12'(beat) * 12'(L) + 12'(lane);
    assign in_ip = at - 12'(plan.at);
    assign in_next = at - 12'(plan.next);
    always_comb begin
      from = ITSELF;
      if (plan.turned && at < 12'd3) from = ON3;
      if (plan.turned && at >= 12'd3 && at < 12'd6) from = BACK3;
      if (plan.ip && !plan.ipv6) begin
        if (in_ip == 12'd0) from = FIRST4;
        if (in_ip == 12'd1 && plan.cut) from = IP_LEN;
        if (in_ip == 12'd5 && plan.ipv4_sum) from = SUM;
        else if (in_ip == 12'd5 && plan.marked) from = MARKED_SUM;
        if (plan.turned && (in_ip == 12'd6 || in_ip == 12'd7)) from = ON2;
        if (plan.turned && (in_ip == 12'd8 || in_ip == 12'd9)) from = BACK2;
      end
      if (plan.ip && plan.ipv6) begin
        if (in_ip == 12'd0) from = FIRST6;
        if (in_ip == 12'd2 && plan.cut) from = IP_LEN;
        if (plan.turned && in_ip >= 12'd4 && in_ip < 12'd12) from = ON8;
        if (plan.turned && in_ip >= 12'd12 && in_ip < 12'd20) from = BACK8;
      end
      if (plan.cut && plan.artifact && in_next == 12'd1) from = ZERO;
      if (plan.cut && !plan.artifact && in_next == 12'd2) from = UDP_LEN;
      if (plan.turned && in_next == 12'd0) from = ON1;
      if (plan.turned && in_next == 12'd1) from = ON4;
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
  logic [L-1:0][15:0] written;
  for (genvar lane = 0; lane < L; lane++) begin : word
    logic [15:0] old;
    assign old = near1[L+lane];
    always_comb begin
      case (source1[lane])
        ON1: written[lane] = near1[L+lane+1];
        ON2: written[lane] = near1[L+lane+2];
        ON3: written[lane] = near1[L+lane+3];
        ON4: written[lane] = near1[L+lane+4];
        ON8: written[lane] = near1[L+lane+8];
        BACK2: written[lane] = near1[L+lane-2];
        BACK3: written[lane] = near1[L+lane-3];
        BACK8: written[lane] = near1[L+lane-8];
        FIRST4: written[lane] = {4'd4, plan1.ihl, plan1.tos};
        FIRST6: written[lane] = {4'd6, plan1.tos, old[3:0]};
        IP_LEN: written[lane] = plan1.ip_len;
        SUM: written[lane] = plan1.sum;
        MARKED_SUM: written[lane] = marked_sum(old, plan1.delta);
        UDP_LEN: written[lane] = plan1.udp_len;
        ZERO: written[lane] = '0;
        default: written[lane] = old;
      endcase
    end
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

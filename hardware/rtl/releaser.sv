// Gives cells back, one frame in each cycle. Those of a flooded frame count until every output has given them back: its first
// cell, and apart from it those of its payload, which a trim gives back earlier.
module releaser
  import pullnet_pkg::*;
#(
    parameter int SOURCES = 5,
    parameter int COPIES = 3,
    parameter int HEADS = 288
) (
    input logic clk,
    input logic rst,
    input logic [SOURCES-1:0] in_valid,
    output logic [SOURCES-1:0] in_ready,
    input release_t [SOURCES-1:0] in,
    output logic head_valid,
    output cell_t head,
    output logic body_valid,
    output cell_t body
);
  localparam int H = $clog2(HEADS);
  logic [H:0] clearing;  // after reset the counts are cleared one by one; nothing comes back meanwhile
  logic [SOURCES-1:0] grant;
  round_robin #(.N(SOURCES)) turns (.clk, .rst, .enable(clearing[H]), .request(in_valid), .grant);
  assign in_ready = grant;

  release_t chosen, now;
  logic now_valid;
  always_comb begin
    chosen = '0;
    for (int s = 0; s < SOURCES; s++) if (grant[s]) chosen |= in[s];
  end
  always_ff @(posedge clk) begin
    now_valid <= grant != 0 && !rst;
    now <= chosen;
  end

  // Copies that were given back, by first cell.
  typedef struct packed {
    logic [1:0] heads;
    logic [1:0] bodies;
  } count_t;
  count_t returned[2**H];
  count_t count, count_then;
  logic [H-1:0] at;
  logic final_head, final_body;
  always_comb begin
    at = now.head[H-1:0];
    count = returned[at];
    final_head = count.heads == 2'(COPIES - 1);
    final_body = count.bodies == 2'(COPIES - 1);
    count_then = count;
    if (now.has_head) count_then.heads = final_head ? 2'd0 : count.heads + 1'b1;
    if (now.has_body) count_then.bodies = final_body ? 2'd0 : count.bodies + 1'b1;
  end
  always_ff @(posedge clk) begin
    if (rst) clearing <= '0;
    else if (!clearing[H]) clearing <= clearing + 1'b1;
    if (!clearing[H]) returned[clearing[H-1:0]] <= '0;
    else if (now_valid && now.shared) returned[at] <= count_then;
  end

  always_ff @(posedge clk) begin
    head_valid <= now_valid && now.has_head && (!now.shared || final_head) && !rst;
    body_valid <= now_valid && now.has_body && (!now.shared || final_body) && !rst;
    head <= now.head;
    body <= now.body;
  end

`ifdef FORMAL_LARGE
  `include "releaser_props.svh"
`endif
endmodule

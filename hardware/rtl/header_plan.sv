// What is written into the headers of a frame: marks, lengths and checksum, one cycle after the frame is there.
module header_plan
  import pullnet_pkg::*;
(
    input logic clk,
    input config_t cfg,
    input frame_t frame,
    output plan_t plan
);
  plan_t plan0, plan1;
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
    plan0.vlan = frame.vlan;
    plan0.next = (frame.vlan ? 5'd4 : 5'd3) + (frame.ipv6 ? 5'd10 : {1'b0, frame.ihl});
    plan0.tos = tos;
    plan0.ihl = frame.ihl;
    at_bytes = frame.vlan ? 16'd18 : 16'd14;
    next_bytes = {9'b0, plan0.next, 2'b10};
    plan0.udp_len = 16'(frame.len) - next_bytes;
    plan0.ip_len = frame.ipv6 ? plan0.udp_len : 16'(frame.len) - at_bytes;
    plan0.empty = 5'(-frame.len);
    word = {4'd4, frame.ihl, tos};
    word_before = {4'd4, frame.ihl, frame.tos};
    sum0 = 24'(frame.sum) + 24'(word);
    if (frame.cut) sum0 = sum0 + {8'b0, ~frame.ip_len} + {8'b0, plan0.ip_len};
    delta0 = {1'b0, ~word_before} + {1'b0, word};
    plan0.delta = delta0[15:0] + {15'b0, delta0[16]};
  end
  always_ff @(posedge clk) begin
    plan1 <= plan0;
    sum1 <= sum0;
  end
  always_comb begin
    plan = plan1;
    plan.sum = ~fold(sum1);
  end

`ifdef FORMAL
  `include "header_plan_props.svh"
`endif
endmodule

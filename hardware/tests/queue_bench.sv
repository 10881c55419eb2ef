// The queue with its settings and frames as single signals, for the golden vectors.
module queue_bench
  import pullnet_pkg::*;
(
    input logic clk,
    input logic rst,
    input logic [19:0] data_limit,
    input logic [19:0] control_limit,
    input logic data_in_bytes,
    input logic control_in_bytes,
    input logic [7:0] control_per_data,
    input logic use_coin,
    input logic send_back,
    input logic mark,
    input logic [7:0] mark_above,
    input logic in_valid,
    input logic [9:0] in_id,
    input logic [13:0] in_len,
    input logic [2:0] in_kind,
    input logic [7:0] in_keep,
    input logic in_ect,
    input logic arriving_loses,
    output logic marks,
    output logic in_ready,
    output logic [2:0] verdict,
    output logic [9:0] victim_id,
    output logic victim_cut,
    output logic coin_used,
    input logic next,
    output logic next_valid,
    output logic [9:0] out_id,
    output logic [13:0] out_len,
    output logic [2:0] out_kind,
    output logic out_marked,
    input logic done,
    output logic [7:0] held_data,
    output logic [7:0] held_control
);
  config_t cfg;
  frame_t in, out, victim;
  always_comb begin
    cfg = '0;
    cfg.data_limit = data_limit;
    cfg.control_limit = control_limit;
    cfg.data_in_bytes = data_in_bytes;
    cfg.control_in_bytes = control_in_bytes;
    cfg.control_per_data = control_per_data;
    cfg.coin = use_coin;
    cfg.send_back = send_back;
    cfg.mark = mark;
    cfg.mark_above = mark_above;
    in = '0;
    in.head = in_id;
    in.len = in_len;
    in.kind = in_kind;
    in.keep = in_keep;
    in.ip = 1'b1;
    in.tos = {6'd3, in_ect, 1'b0};
    marks = congested(cfg, held_data, in);
    in.marked = marks;
  end
  trim_queue #(.DATA_DEPTH(64), .CONTROL_DEPTH(64)) queue (
      .clk, .rst, .cfg, .in_valid, .in_ready, .in, .arriving_loses, .verdict, .victim, .victim_cut, .coin_used, .next,
      .next_valid, .out, .done, .held_data, .held_control
  );
  assign victim_id = victim.head;
  assign out_id = out.head;
  assign out_len = out.len;
  assign out_kind = out.kind;
  assign out_marked = out.marked;
endmodule

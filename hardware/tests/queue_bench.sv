// The queues of both switches with their settings and frames as single signals, for the golden vectors.
module queue_bench
  import pullnet_pkg::*;
(
    input logic clk,
    input logic rst,
    input logic drop_tail,  // the queue of the reference switch
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
  frame_t in;
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
    in.marked = marks;
  end
  typedef struct packed {
    logic in_ready;
    verdict_t verdict;
    frame_t victim;
    logic victim_cut;
    logic coin_used;
    logic next_valid;
    frame_t out;
    logic [7:0] held;
    logic [7:0] held_data;
    logic [7:0] held_control;
  } told_t;
  told_t trims, drops, told;
  trim_queue #(.DATA_DEPTH(64), .CONTROL_DEPTH(64)) queue (
      .clk, .rst, .cfg, .in_valid(in_valid && !drop_tail), .in_ready(trims.in_ready), .in, .in_fit(fit_of(cfg, in)),
      .arriving_loses,
      .verdict(trims.verdict), .victim(trims.victim), .victim_cut(trims.victim_cut), .coin_used(trims.coin_used),
      .wants(next || done), .turn(), .next(next && !drop_tail), .next_valid(trims.next_valid), .out(trims.out),
      .done(done && !drop_tail), .held_data(trims.held_data), .held_control(trims.held_control)
  );
  tail_queue #(.DEPTH(64)) tail (
      .clk, .rst, .cfg, .in_valid(in_valid && drop_tail), .in_ready(drops.in_ready), .in, .verdict(drops.verdict),
      .victim(drops.victim), .wants(next || done), .turn(), .next(next && drop_tail), .next_valid(drops.next_valid),
      .out(drops.out), .done(done && drop_tail), .held(drops.held), .held_data(drops.held_data), .held_control(drops.held_control)
  );
  assign drops.victim_cut = 1'b0;
  assign drops.coin_used = 1'b0;
  assign trims.held = trims.held_data;
  assign told = drop_tail ? drops : trims;
  assign marks = congested(cfg, told.held, in, drop_tail);
  assign in_ready = told.in_ready;
  assign verdict = told.verdict;
  assign victim_id = told.victim.head;
  assign victim_cut = told.victim_cut;
  assign coin_used = told.coin_used;
  assign next_valid = told.next_valid;
  assign out_id = told.out.head;
  assign out_len = told.out.len;
  assign out_kind = told.out.kind;
  assign out_marked = told.out.marked;
  assign held_data = told.held_data;
  assign held_control = told.held_control;
endmodule

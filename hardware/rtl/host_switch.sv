// A switch of PORTS ports that trims (NDP = 1), or the reference switch that learns and drops tails (NDP = 0), with its
// registers: what a board's top level or a test bench connects.
//
// Streams carry frames without check sequence; `rx_wrong` comes with the last beat of a frame whose check sequence was
// wrong. Byte n of a beat is in bits 8n+7..8n.
module host_switch
  import pullnet_pkg::*;
#(
    parameter int W = 128,
    parameter int PORTS = 4,             // at most 4
    parameter bit NDP = 1'b1,
    parameter int DATA_DEPTH = 8,        // data frames that a port can hold: powers of two
    parameter int CONTROL_DEPTH = 64,
    parameter int HEADS = 308,           // first cells, for frames in all queues and on their way
    parameter int LONG_CONTROL = 3,      // control frames of more than one cell that a port can hold
    // Further cells of so many frames. All lines may stop for ever, and each port still finds some for its next frame: queues
    // hold DATA_DEPTH (of 8) and LONG_CONTROL and one in service, each port keeps one ready, and one is left for each. Test
    // benches have deeper queues and limits of theirs below that: the packet memory has no room for more.
    parameter int BODIES = 56,
    parameter int RX_DEPTH = 256,
    parameter int TX_DEPTH = 64,
    parameter int FIXED = 8,             // entries by Ethernet address
    parameter int ROUTES = 8,            // entries by IPv4 prefix
    parameter int LEARNED = 16
) (
    input logic clk,
    input logic rst,
    input logic coin,
    input logic host_write,              // one 32-bit register at each address, see registers.sv
    input logic [7:0] host_address,
    input logic [31:0] host_write_data,
    output logic [31:0] host_read_data,
    input logic [PORTS-1:0] rx_valid,
    output logic [PORTS-1:0] rx_ready,
    input logic [PORTS-1:0][W-1:0] rx_data,
    input logic [PORTS-1:0] rx_last,
    input logic [PORTS-1:0][$clog2(W/8)-1:0] rx_empty,
    input logic [PORTS-1:0] rx_wrong,
    output logic [PORTS-1:0] tx_valid,
    input logic [PORTS-1:0] tx_ready,
    output logic [PORTS-1:0][W-1:0] tx_data,
    output logic [PORTS-1:0] tx_last,
    output logic [PORTS-1:0][$clog2(W/8)-1:0] tx_empty,
    // What happens, in order, for an observer.
    output logic routed_valid,
    output logic [2:0] routed_from,
    output logic [PORTS-1:0] routed_to,
    output logic offer_valid,
    output logic [2:0] offer_port,
    output verdict_t offer_verdict,
    output logic offer_coin,
    output logic [PORTS-1:0] taken,      // a frame goes into service
    output logic [PORTS-1:0] done,       // the one before has left
    output cell_t heads_out,             // first cells, and places for payloads, that are not free
    output cell_t bodies_out
);
  localparam int BANKS = beats_of_cell(W);
  localparam int B = $clog2(BANKS);

  config_t cfg;
  entry_t [FIXED-1:0] fixed;
  route_t [ROUTES-1:0] routes;
  logic [6:0] counter_address;         // port, counter
  logic [31:0] counter_value;          // two cycles later
  registers #(.FIXED(FIXED), .ROUTES(ROUTES)) host (
      .clk, .rst, .write(host_write), .address(host_address), .write_data(host_write_data),
      .read_data(host_read_data), .cfg, .fixed, .routes, .counter_address, .counter_value
  );

  logic [PORTS-1:0] head_ready, head_gnt, body_ready, body_gnt;
  cell_t free_head, free_body;
  logic free_head_valid, free_body_valid;
  logic [PORTS-1:0] write_again, read_again, write_request, write_grant, read_request, read_grant;
  logic [PORTS-1:0][B-1:0] read_bank;
  cell_t [PORTS-1:0] write_cell, read_cell;
  logic [PORTS-1:0][W-1:0] write_data, read_data;
  logic [PORTS-1:0] in_valid, in_ready;
  ticket_t [PORTS-1:0] in;
  logic [PORTS-1:0] enqueue, enqueue_ready, cut, wants, turn, next;
  frame_t [PORTS-1:0] offered;
  fit_t [PORTS-1:0] offered_fit;
  frame_t [PORTS-1:0] victim, serving, done_frame;
  verdict_t [PORTS-1:0] verdict;
  logic [PORTS-1:0][7:0] held, held_data, held_control;
  logic [PORTS-1:0] arriving_loses;
  logic [PORTS:0] release_valid, release_ready;
  release_t [PORTS:0] released;
  logic [PORTS-1:0] counts_arrival, counts_error, counts_discard;
  len_t arrival_len;
  logic arrival_group, offer_cut, offer_marked;
  logic [PORTS-1:0][31:0] counted;
  logic [1:0] counted_port;

  // Free cells go to the ports in turn, one in each cycle.
  logic back_head_valid, back_body_valid, list_head_valid, list_body_valid, list_head_ready, list_body_ready;
  cell_t back_head, back_body, list_head, list_body;
  free_list #(.COUNT(HEADS), .FIRST(0), .STEP(1)) free_heads (
      .clk, .rst, .out_valid(list_head_valid), .out_ready(list_head_ready), .out_cell(list_head),
      .in_valid(back_head_valid), .in_cell(back_head)
  );
  free_list #(.COUNT(BODIES), .FIRST(HEADS), .STEP(body_cells(W))) free_bodies (
      .clk, .rst, .out_valid(list_body_valid), .out_ready(list_body_ready), .out_cell(list_body),
      .in_valid(back_body_valid), .in_cell(back_body)
  );
  skid #(.WIDTH($bits(cell_t))) next_head (
      .clk, .rst, .in_valid(list_head_valid), .in_ready(list_head_ready), .in_data(list_head),
      .out_valid(free_head_valid), .out_ready(head_gnt != 0), .out_data(free_head)
  );
  skid #(.WIDTH($bits(cell_t))) next_body (
      .clk, .rst, .in_valid(list_body_valid), .in_ready(list_body_ready), .in_data(list_body),
      .out_valid(free_body_valid), .out_ready(body_gnt != 0), .out_data(free_body)
  );
  round_robin #(.N(PORTS)) head_turns (
      .clk, .rst, .enable(free_head_valid), .request(head_ready), .grant(head_gnt)
  );
  round_robin #(.N(PORTS)) body_turns (
      .clk, .rst, .enable(free_body_valid), .request(body_ready), .grant(body_gnt)
  );
  releaser #(.SOURCES(PORTS + 1), .COPIES(PORTS - 1), .HEADS(HEADS)) release_i (
      .clk, .rst, .in_valid(release_valid), .in_ready(release_ready), .in(released),
      .head_valid(back_head_valid), .head(back_head), .body_valid(back_body_valid), .body(back_body)
  );

  cells #(.W(W), .PORTS(PORTS), .CELLS(1024)) memory (
      .clk, .write_begins(write_grant), .write_cell, .write_data, .read_begins(read_grant), .read_cell, .read_bank, .read_data
  );
  cell_turns #(.N(PORTS)) write_turns (.clk, .rst, .request(write_request), .again(write_again), .grant(write_grant));
  cell_turns #(.N(PORTS)) read_turns (.clk, .rst, .request(read_request), .again(read_again), .grant(read_grant));

  admission #(.PORTS(PORTS), .NDP(NDP), .FIXED(FIXED), .ROUTES(ROUTES), .LEARNED(LEARNED), .HEADS(HEADS)) admit (
      .clk, .rst, .cfg, .fixed, .routes, .in_valid, .in_ready, .in, .coin, .enqueue, .enqueue_ready, .offered, .offered_fit,
      .arriving_loses, .verdict, .victim, .victim_cut(cut), .held,
      .release_valid(release_valid[PORTS]), .release_ready(release_ready[PORTS]), .released(released[PORTS]),
      .counts_arrival, .counts_error, .counts_discard, .arrival_len, .arrival_group,
      .routed_valid, .routed_from, .routed_to, .offer_valid, .offer_port, .offer_verdict, .offer_cut,
      .offer_marked, .offer_coin
  );

  for (genvar p = 0; p < PORTS; p++) begin : port
    ingress #(.W(W), .DEPTH(RX_DEPTH)) way_in (
        .clk, .rst, .cfg, .rx_valid(rx_valid[p]), .rx_ready(rx_ready[p]), .rx_data(rx_data[p]),
        .rx_last(rx_last[p]), .rx_empty(rx_empty[p]), .rx_wrong(rx_wrong[p]),
        .head_ready(head_ready[p]), .head_valid(head_gnt[p]), .head_cell(free_head),
        .body_ready(body_ready[p]), .body_valid(body_gnt[p]), .body_cell(free_body),
        .begin_request(write_request[p]), .begin_again(write_again[p]), .begin_grant(write_grant[p]), .write_cell(write_cell[p]),
        .write_data(write_data[p]),
        .out_valid(in_valid[p]), .out_ready(in_ready[p]), .out(in[p])
    );
    if (NDP) begin : ndp
      trim_queue #(.DATA_DEPTH(DATA_DEPTH), .CONTROL_DEPTH(CONTROL_DEPTH), .LONG_CONTROL(LONG_CONTROL)) queue (
          .clk, .rst, .cfg, .in_valid(enqueue[p]), .in_ready(enqueue_ready[p]), .in(offered[p]), .in_fit(offered_fit[p]),
          .arriving_loses(arriving_loses[p]), .verdict(verdict[p]), .victim(victim[p]), .victim_cut(cut[p]),
          .coin_used(), .wants(wants[p]), .turn(turn[p]), .next(next[p]), .next_valid(taken[p]), .out(serving[p]),
          .done(done[p]), .held_data(held_data[p]), .held_control(held_control[p])
      );
      assign held[p] = held_data[p];
    end else begin : reference
      tail_queue #(.DEPTH(DATA_DEPTH)) queue (
          .clk, .rst, .cfg, .in_valid(enqueue[p]), .in_ready(enqueue_ready[p]), .in(offered[p]),
          .verdict(verdict[p]), .victim(victim[p]), .wants(wants[p]), .turn(turn[p]), .next(next[p]),
          .next_valid(taken[p]), .out(serving[p]), .done(done[p]), .held(held[p]), .held_data(held_data[p]),
          .held_control(held_control[p])
      );
      assign cut[p] = 1'b0;
    end
    egress #(.W(W), .DEPTH(TX_DEPTH)) way_out (
        .clk, .rst, .cfg, .wants(wants[p]), .turn(turn[p]), .next(next[p]), .next_valid(taken[p]),
        .frame(serving[p]), .done(done[p]), .done_frame(done_frame[p]),
        .begin_request(read_request[p]), .begin_again(read_again[p]), .begin_grant(read_grant[p]), .read_bank(read_bank[p]), .read_cell(read_cell[p]), .read_data(read_data[p]),
        .release_valid(release_valid[p]), .release_ready(release_ready[p]), .released(released[p]),
        .tx_valid(tx_valid[p]), .tx_ready(tx_ready[p]), .tx_data(tx_data[p]), .tx_last(tx_last[p]),
        .tx_empty(tx_empty[p])
    );
    counters count (
        .clk, .rst, .arrives(counts_arrival[p]), .arrival_error(counts_error[p]),
        .arrival_discard(counts_discard[p]), .arrival_len, .arrival_group, .leaves(done[p]),
        .leaving(done_frame[p]), .offered(offer_valid && offer_port == 3'(p)), .verdict(offer_verdict),
        .cut(offer_cut), .marked(offer_marked), .held_data(held_data[p]), .held_control(held_control[p]),
        .address(counter_address[4:0]), .value(counted[p])
    );
  end

  always_ff @(posedge clk) begin
    heads_out <= rst ? '0 : heads_out + cell_t'(head_gnt != 0) - cell_t'(back_head_valid);
    bodies_out <= rst ? '0 : bodies_out + cell_t'(body_gnt != 0) - cell_t'(back_body_valid);
  end

  always_ff @(posedge clk) begin
    counted_port <= counter_address[6:5];
    counter_value <= counted[counted_port];
  end
endmodule

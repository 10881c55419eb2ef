// The one place where frames meet: takes them in turn, looks up where they go, and offers them to the queues, one frame to
// one queue in each cycle. The order here is the order of the switch: all that follows is decided by it and by the coin.
// Headers that go back to their sender come here once more, before any other frame.
module admission
  import pullnet_pkg::*;
#(
    parameter int PORTS = 4,
    parameter bit NDP = 1'b1,  // 0: one queue at each port, for frames of every kind
    parameter int FIXED = 8,
    parameter int ROUTES = 8,
    parameter int LEARNED = 16,
    parameter int HEADS = 288  // first cells that there are
) (
    input logic clk,
    input logic rst,
    input config_t cfg,
    input entry_t [FIXED-1:0] fixed,
    input route_t [ROUTES-1:0] routes,
    input logic [PORTS-1:0] in_valid,
    output logic [PORTS-1:0] in_ready,
    input ticket_t [PORTS-1:0] in,
    input logic coin,
    // The queues.
    output logic [PORTS-1:0] enqueue,
    input logic [PORTS-1:0] enqueue_ready,
    output frame_t offered,
    output fit_t offered_fit,
    output logic arriving_loses,
    input verdict_t [PORTS-1:0] verdict,
    input frame_t [PORTS-1:0] victim,
    input logic [PORTS-1:0] victim_cut,
    input logic [PORTS-1:0][7:0] held,  // what marks go by
    // Cells that are not needed any more.
    output logic release_valid,
    input logic release_ready,
    output release_t released,
    // For counters and for whoever follows what happens.
    output logic [PORTS-1:0] counts_arrival,
    output logic [PORTS-1:0] counts_error,
    output logic [PORTS-1:0] counts_discard,
    output len_t arrival_len,
    output logic arrival_group,
    output logic routed_valid,         // a frame is offered to these queues next
    output logic [2:0] routed_from,    // ingress port; PORTS: a header that comes round
    output logic [PORTS-1:0] routed_to,
    output logic offer_valid,          // a queue has taken or refused a frame
    output logic [2:0] offer_port,
    output verdict_t offer_verdict,
    output logic offer_cut,
    output logic offer_marked,
    output logic offer_coin            // the coin that was offered with it
);
  // Headers that come round. More than are on their way between the queues and here never wait.
  typedef struct packed {
    logic [2:0] from;
    ticket_t ticket;
  } round_t;
  round_t round_in, round_out;
  logic round_in_valid, round_in_ready, round_valid, round_take;
  fifo #(.WIDTH($bits(round_t)), .DEPTH(16)) round (
      .clk, .rst, .in_valid(round_in_valid), .in_ready(round_in_ready), .in_data(round_in),
      .out_valid(round_valid), .out_ready(round_take), .out_data(round_out), .held()
  );

  // Step 1: whose turn it is.
  logic move1, move2, move3, move4, step;
  logic [PORTS-1:0] now;  // the queue that a frame is offered to
  logic [PORTS-1:0] grant;
  round_robin #(.N(PORTS)) turns (
      .clk, .rst, .enable(move1 && !round_valid), .request(in_valid), .grant
  );
  assign in_ready = grant;
  assign round_take = move1;

  logic valid1, comes_round1;
  logic [2:0] from1;
  ticket_t ticket1, chosen;
  logic [2:0] chosen_from;
  always_comb begin
    chosen = '0;
    chosen_from = '0;
    for (int p = 0; p < PORTS; p++) begin
      if (grant[p]) begin
        chosen |= in[p];
        chosen_from |= 3'(p);
      end
    end
  end
  always_ff @(posedge clk) begin
    if (rst) valid1 <= 1'b0;
    else if (move1) valid1 <= round_valid || grant != 0;
    if (move1) begin
      comes_round1 <= round_valid;
      from1 <= round_valid ? round_out.from : chosen_from;
      ticket1 <= round_valid ? round_out.ticket : chosen;
    end
  end

  // Step 2: learning and lookup.
  logic known, by_label;
  logic [2:0] port;
  ways_t ways;
  table_lookup #(.FIXED(FIXED), .ROUTES(ROUTES), .LEARNED(LEARNED)) lookup (
      .clk, .rst, .cfg, .fixed, .routes, .enable(move2 && valid1), .learns(!comes_round1 && !ticket1.bad),
      .ingress(from1), .to(ticket1.to), .from(ticket1.from), .v4(ticket1.v4), .to_ip(ticket1.to_ip),
      .known, .by_label, .port, .ways
  );
  logic valid2, comes_round2;
  logic [2:0] from2;
  ticket_t ticket2;
  always_ff @(posedge clk) begin
    if (rst) valid2 <= 1'b0;
    else if (move2) valid2 <= valid1;
    if (move2) begin
      comes_round2 <= comes_round1;
      from2 <= from1;
      ticket2 <= ticket1;
    end
  end

  // Step 3: the answer of the lookup.
  logic valid3, comes_round3, known3, by_label3;
  logic [2:0] from3, port3;
  ways_t ways3;
  ticket_t ticket3;
  always_ff @(posedge clk) begin
    if (rst) valid3 <= 1'b0;
    else if (move3) valid3 <= valid2;
    if (move3) begin
      comes_round3 <= comes_round2;
      from3 <= from2;
      ticket3 <= ticket2;
      known3 <= known;
      by_label3 <= by_label;
      port3 <= port;
      ways3 <= ways;
    end
  end

  // Step 4: the queues that the frame goes to. A frame without a label takes the first of equal ports.
  logic [PORTS-1:0] others, to_mask;
  logic [15:0] digit;
  logic [1:0] choice;
  logic [2:0] way;
  logic floods;
  always_comb begin
    digit = ticket3.labelled ? (ticket3.label >> ways3.shift) & ways3.mask : '0;
    choice = digit[1:0] & (ways3.log2_ports == 2'd2 ? 2'd3 : {1'b0, ways3.log2_ports[0]});
    way = by_label3 ? ways3.ports[choice] : port3;
    for (int p = 0; p < PORTS; p++) others[p] = p != int'(from3);
    floods = !known3 && cfg.flood;
    to_mask = '0;
    for (int p = 0; p < PORTS; p++) to_mask[p] = known3 && p == int'(way);
    if (floods) to_mask = '1;
    to_mask &= others;
    // A flooded header that comes back to an unknown sender is not flooded once more: its cells count one flood.
    if (ticket3.bad || (floods && ticket3.frame.shared)) to_mask = '0;
  end
  // The skid buffer keeps what the queues say in this cycle from the steps above.
  typedef struct packed {
    logic comes_round;
    logic [2:0] from;
    logic [PORTS-1:0] mask;
    fit_t fit;
    ticket_t ticket;
  } bound_t;
  bound_t bound, bound4;
  logic bound_ready, bound4_valid;
  always_comb begin
    bound = '{comes_round3, from3, to_mask, fit_of(cfg, ticket3.frame), ticket3};
    bound.ticket.frame.shared = ticket3.frame.shared || (floods && !ticket3.bad);
  end
  skid #(.WIDTH($bits(bound_t))) bounds (
      .clk, .rst, .in_valid(valid3), .in_ready(bound_ready), .in_data(bound),
      .out_valid(bound4_valid), .out_ready(move4), .out_data(bound4)
  );
  logic valid4, comes_round4, fresh4;
  logic [2:0] from4;
  ticket_t ticket4;
  logic [PORTS-1:0] mask4, mask4_all;
  always_ff @(posedge clk) begin
    if (rst) begin
      valid4 <= 1'b0;
      fresh4 <= 1'b0;
    end else if (move4) begin
      valid4 <= bound4_valid;
      fresh4 <= bound4_valid;
    end else if (step) begin
      fresh4 <= 1'b0;
    end
    if (move4) begin
      comes_round4 <= bound4.comes_round;
      from4 <= bound4.from;
      ticket4 <= bound4.ticket;
      offered_fit <= bound4.fit;
      mask4 <= bound4.mask;
      mask4_all <= bound4.mask;
    end else if (step) begin
      mask4 <= mask4 & ~now;
    end
  end

  // Step 5: one queue after the other. A frame that has nowhere to go takes a step of its own.
  logic can, final_step, marks;
  logic room_behind;
  logic [7:0] held_now;
  always_comb begin
    now = mask4 & (~mask4 + 1'b1);
    can = room_behind && (mask4 == 0 || (now & enqueue_ready) != 0);
    step = valid4 && can;
    final_step = (mask4 & ~now) == 0;
    held_now = '0;
    for (int p = 0; p < PORTS; p++) if (now[p]) held_now |= held[p];
    marks = congested(cfg, held_now, ticket4.frame, !NDP);
    offered = ticket4.frame;
    offered.marked = ticket4.frame.marked || marks;
    enqueue = valid4 && room_behind ? now : '0;
    arriving_loses = coin;
  end
  assign move4 = !valid4 || (step && final_step);
  assign move3 = !valid3 || bound_ready;
  assign move2 = !valid2 || move3;
  assign move1 = !valid1 || move2;

  // What a header needs when it goes back: kept beside its first cell.
  typedef struct packed {
    mac_t from;
    logic [15:0] to_port;
    logic fragment;
    mac_t to;
    logic v4;
    ip_t from_ip;
  } way_back_t;
  way_back_t ways_back[HEADS];
  way_back_t way_back;
  localparam int H = $clog2(HEADS);

  // Step 6: what became of it.
  logic valid6, dropped6, back6, cut6;
  logic [2:0] port6;
  frame_t victim6, victim_now;
  verdict_t verdict_now;
  logic cut_now;
  always_comb begin
    victim_now = mask4 == 0 ? ticket4.frame : '0;
    verdict_now = '0;
    cut_now = 1'b0;
    for (int p = 0; p < PORTS; p++) begin
      if (now[p]) begin
        victim_now |= victim[p];
        verdict_now |= verdict[p];
        cut_now |= victim_cut[p];
      end
    end
  end
  always_ff @(posedge clk) begin
    valid6 <= step && !rst;
    dropped6 <= mask4 == 0 || verdict_now == DATA_FULL || verdict_now == CONTROL_FULL;
    back6 <= mask4 != 0 && verdict_now == SENT_BACK;
    cut6 <= cut_now;
    victim6 <= victim_now;
    port6 <= '0;
    for (int p = 0; p < PORTS; p++) if (now[p]) port6 <= 3'(p);
  end

  always_ff @(posedge clk) begin
    if (step && fresh4 && !comes_round4)
      ways_back[ticket4.frame.head[H-1:0]]
          <= '{ticket4.from, ticket4.to_port, ticket4.fragment, ticket4.to, ticket4.v4, ticket4.from_ip};
    way_back <= ways_back[victim6.head[H-1:0]];
  end

  // A frame that was cut and belongs to one queue alone gives the cells of its payload back at once.
  release_t release6;
  logic release6_valid, release6_ready;
  always_comb begin
    release6.head = victim6.head;
    release6.body = victim6.body;
    release6.shared = victim6.shared;
    release6.has_head = dropped6;
    release6.has_body = victim6.has_body && (dropped6 || (cut6 && !victim6.shared));
    release6_valid = valid6 && (release6.has_head || release6.has_body);
  end
  fifo #(.WIDTH($bits(release_t)), .DEPTH(16)) releases (
      .clk, .rst, .in_valid(release6_valid), .in_ready(release6_ready), .in_data(release6),
      .out_valid(release_valid), .out_ready(release_ready), .out_data(released), .held()
  );
  // Steps stop while four releases wait, so that those on their way find room.
  logic [4:0] releases_waiting;
  always_ff @(posedge clk) begin
    if (rst) releases_waiting <= '0;
    else
      releases_waiting <= releases_waiting + 5'(release6_valid) - 5'(release_valid && release_ready);
  end
  assign room_behind = releases_waiting < 5'd8;

  // Step 7: back to the sender.
  logic back7;
  logic [2:0] port7;
  frame_t frame7;
  always_ff @(posedge clk) begin
    back7 <= valid6 && back6 && !rst;
    port7 <= port6;
    frame7 <= victim6;
    if (cut6) frame7.has_body <= victim6.has_body && victim6.shared;
  end
  always_comb begin
    round_in_valid = back7;
    round_in = '0;
    round_in.from = port7;
    round_in.ticket.to = way_back.from;
    round_in.ticket.from = way_back.to;
    round_in.ticket.v4 = way_back.v4;
    round_in.ticket.to_ip = way_back.from_ip;
    round_in.ticket.fragment = way_back.fragment;
    round_in.ticket.labelled = !way_back.fragment && way_back.to_port >= 16'd49152;
    round_in.ticket.label = way_back.to_port - 16'd49152;
    round_in.ticket.frame = frame7;
    round_in.ticket.frame.kind = RETURNED;
    round_in.ticket.frame.turned = 1'b1;
    round_in.ticket.frame.group = way_back.from[40];
  end

  // Counters.
  always_comb begin
    counts_arrival = '0;
    counts_error = '0;
    counts_discard = '0;
    for (int p = 0; p < PORTS; p++) begin
      if (step && fresh4 && p == int'(from4)) begin
        counts_arrival[p] = !comes_round4 && !ticket4.bad;
        counts_error[p] = ticket4.bad;
        counts_discard[p] = !ticket4.bad && mask4_all == 0;
      end
    end
    arrival_len = ticket4.frame.len;
    arrival_group = ticket4.to[40];
    routed_valid = step && fresh4;
    routed_from = comes_round4 ? 3'(PORTS) : from4;
    routed_to = mask4_all;
    offer_valid = step && mask4 != 0;
    offer_port = '0;
    for (int p = 0; p < PORTS; p++) if (now[p]) offer_port = 3'(p);
    offer_verdict = verdict_now;
    offer_cut = cut_now;
    // A frame that a drop-tail queue refuses is not marked.
    offer_marked = marks && (NDP || verdict_now == QUEUED);
    offer_coin = coin;
  end

`ifdef CHECKS
  always_ff @(posedge clk) begin
    if (!rst) assert (!round_in_valid || round_in_ready);
    if (!rst) assert (!release6_valid || release6_ready);
  end
`endif

`ifdef FORMAL_LARGE
  `include "admission_props.svh"
`endif
endmodule

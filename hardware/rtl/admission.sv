// The one place where frames meet: takes them in turn, looks up where they go, and offers them to the queues, one frame to
// one queue in each cycle. The order here is the order of the switch: all that follows is decided by it and by the coin.
// Headers that go back to their sender come here once more, before any other frame.
//
// Ports and queues lie all over a chip, so nothing goes there and back in one cycle: a ticket is taken one cycle after its
// port was granted, and each queue has a skid buffer of its own for what is offered to it. A frame is taken in only if there
// is room for it behind the lookup, so no step before that has to wait.
module admission
  import pullnet_pkg::*;
#(
    parameter int PORTS = 4,
    parameter bit NDP = 1'b1,  // 0: one queue at each port, for frames of every kind
    parameter int FIXED = 8,
    parameter int ROUTES = 8,
    parameter int LEARNED = 16,
    parameter int HEADS = 288,  // first cells that there are
    parameter int BOUNDS = 8    // frames that may be on their way to their last offer: a power of two
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
    output frame_t [PORTS-1:0] offered,
    output fit_t [PORTS-1:0] offered_fit,
    output logic [PORTS-1:0] arriving_loses,
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
    output logic routed_valid,         // a frame goes to these queues, beginning with the offer of this cycle
    output logic [2:0] routed_from,    // ingress port; PORTS: a header that comes round
    output logic [PORTS-1:0] routed_to,
    output logic offer_valid,          // a queue has taken or refused a frame in the cycle before
    output logic [2:0] offer_port,
    output verdict_t offer_verdict,
    output logic offer_cut,
    output logic offer_marked,
    output logic offer_coin            // the coin that was offered with it
);
  // What a header needs when it goes back: kept beside its first cell.
  typedef struct packed {
    mac_t from;
    logic [15:0] to_port;
    logic fragment;
    mac_t to;
    logic v4;
    ip_t from_ip;
  } way_back_t;
  localparam int H = $clog2(HEADS);
  way_back_t ways_back[HEADS];
  way_back_t way_back;

  // Headers that come round. While one waits, no other frame is taken in, and none comes round twice. So no more of them wait
  // than there are offers of the frames that are on their way, with those whose outcome is not here yet: each may come back.
  localparam int BEHIND = 5;  // two in `orders`, one in each of steps 7 to 9
  localparam int RETURNS = BOUNDS * (PORTS - 1) + BEHIND;
  typedef struct packed {
    logic [2:0] from;
    frame_t frame;
  } round_t;
  round_t round_in, round_out;
  logic round_in_valid, round_in_ready, round_valid, round_take;
  short_fifo #(.WIDTH($bits(round_t)), .DEPTH(2 ** $clog2(RETURNS))) round (
      .clk, .rst, .in_valid(round_in_valid), .in_ready(round_in_ready), .in_data(round_in),
      .out_valid(round_valid), .out_ready(round_take), .out_data(round_out), .held()
  );

  // Step 0: whose turn it is. Whoever was granted does not know it yet, and asks in vain in the next cycle.
  localparam int C = $clog2(BOUNDS) + 1;
  logic [C-1:0] on_way;  // frames between here and their last offer
  logic may_take, round_turn;
  logic [PORTS-1:0] grant;
  assign may_take = on_way < C'(BOUNDS);
  assign round_turn = may_take && round_valid && !round_take;
  round_robin #(.N(PORTS)) turns (
      .clk, .rst, .enable(may_take && !round_valid), .request(in_valid & ~in_ready), .grant
  );
  always_ff @(posedge clk) begin
    in_ready <= rst ? '0 : grant;
    round_take <= round_turn && !rst;
  end

  // Step 1: the ticket.
  logic valid1, comes_round1;
  logic [2:0] from1;
  ticket_t ticket1, chosen, returned;
  logic [2:0] chosen_from;
  // The header at the front waits for one cycle at least before it is taken: by then its way back has been read.
  always_ff @(posedge clk) way_back <= ways_back[round_out.frame.head[H-1:0]];
  always_comb begin
    returned = '0;
    returned.to = way_back.from;
    returned.from = way_back.to;
    returned.v4 = way_back.v4;
    returned.to_ip = way_back.from_ip;
    returned.fragment = way_back.fragment;
    returned.labelled = !way_back.fragment && way_back.to_port >= 16'd49152;
    returned.label = way_back.to_port - 16'd49152;
    returned.frame = round_out.frame;
    returned.frame.kind = RETURNED;
    returned.frame.turned = 1'b1;
    returned.frame.group = way_back.from[40];
  end
  always_comb begin
    chosen = round_take ? returned : '0;
    chosen_from = round_take ? round_out.from : '0;
    for (int p = 0; p < PORTS; p++) begin
      if (in_ready[p]) begin
        chosen |= in[p];
        chosen_from |= 3'(p);
      end
    end
  end
  always_ff @(posedge clk) begin
    valid1 <= (round_take || in_ready != 0) && !rst;
    comes_round1 <= round_take;
    from1 <= chosen_from;
    ticket1 <= chosen;
  end

  // Step 2: learning and lookup.
  logic known, by_label;
  logic [2:0] port;
  ways_t ways;
  table_lookup #(.FIXED(FIXED), .ROUTES(ROUTES), .LEARNED(LEARNED)) lookup (
      .clk, .rst, .cfg, .fixed, .routes, .enable(valid1), .learns(!comes_round1 && !ticket1.bad),
      .ingress(from1), .to(ticket1.to), .from(ticket1.from), .v4(ticket1.v4), .to_ip(ticket1.to_ip),
      .known, .by_label, .port, .ways
  );
  logic valid2, comes_round2;
  logic [2:0] from2;
  ticket_t ticket2;
  always_ff @(posedge clk) begin
    valid2 <= valid1 && !rst;
    comes_round2 <= comes_round1;
    from2 <= from1;
    ticket2 <= ticket1;
  end

  // Step 3: the answer of the lookup.
  logic valid3, comes_round3, known3, by_label3;
  logic [2:0] from3, port3;
  ways_t ways3;
  ticket_t ticket3;
  always_ff @(posedge clk) begin
    valid3 <= valid2 && !rst;
    comes_round3 <= comes_round2;
    from3 <= from2;
    ticket3 <= ticket2;
    known3 <= known;
    by_label3 <= by_label;
    port3 <= port;
    ways3 <= ways;
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
  typedef struct packed {
    logic comes_round;
    logic [2:0] from;
    logic [PORTS-1:0] mask;
    fit_t fit;
    ticket_t ticket;
  } bound_t;
  bound_t bound, bound4;
  logic bound_ready, valid4, leave4;
  always_comb begin
    bound = '{comes_round3, from3, to_mask, fit_of(cfg, ticket3.frame), ticket3};
    bound.ticket.frame.shared = ticket3.frame.shared || (floods && !ticket3.bad);
  end
  logic valid_bound;
  bound_t bound_in;
  always_ff @(posedge clk) begin
    valid_bound <= valid3 && !rst;
    bound_in <= bound;
    if (rst) on_way <= '0;
    else on_way <= on_way + C'(round_turn || grant != 0) - C'(leave4);
  end
  short_fifo #(.WIDTH($bits(bound_t)), .DEPTH(BOUNDS)) bounds (
      .clk, .rst, .in_valid(valid_bound), .in_ready(bound_ready), .in_data(bound_in),
      .out_valid(valid4), .out_ready(leave4), .out_data(bound4), .held()
  );

  // Step 5: to the skid buffer of one queue after the other. A frame that has nowhere to go takes a step of its own.
  typedef struct packed {
    logic [PORTS-1:0] to_queue;  // none: the frame has nowhere to go
    logic first;
    logic [PORTS-1:0] mask;
    logic [2:0] from;         // PORTS: a header that comes round
    release_t cells;
  } order_t;
  order_t order_in, order;
  logic [PORTS-1:0] offered_before, mask4, now;
  logic first4, step, order_ready, order_valid, committed, room_behind;
  always_comb begin
    mask4 = bound4.mask & ~offered_before;
    now = mask4 & (~mask4 + 1'b1);
    step = valid4 && order_ready && room_behind;
    leave4 = step && (mask4 & ~now) == 0;
    order_in.to_queue = now;
    order_in.first = first4;
    order_in.mask = bound4.mask;
    order_in.from = bound4.comes_round ? 3'(PORTS) : bound4.from;
    order_in.cells = '{bound4.ticket.frame.head, bound4.ticket.frame.body, 1'b1, bound4.ticket.frame.has_body,
        bound4.ticket.frame.shared};
  end
  always_ff @(posedge clk) begin
    if (rst || leave4) begin
      offered_before <= '0;
      first4 <= 1'b1;
    end else if (step) begin
      offered_before <= offered_before | now;
      first4 <= 1'b0;
    end
  end

  // Step 6: the queues take the offers in this order. No more of them wait than one skid buffer holds.
  typedef struct packed {
    logic arriving_loses;
    fit_t fit;
    frame_t frame;
  } offer_t;
  skid #(.WIDTH($bits(order_t))) orders (
      .clk, .rst, .in_valid(step), .in_ready(order_ready), .in_data(order_in),
      .out_valid(order_valid), .out_ready(committed), .out_data(order)
  );
  logic [PORTS-1:0] offer_ready, offer_waits, offer_taken, marks;
  offer_t [PORTS-1:0] offer;
  // What becomes of an offer, from registers beside each queue.
  typedef struct packed {
    verdict_t verdict;
    logic cut;
    logic marked;
    logic coin;
    frame_t victim;
  } result_t;
  result_t [PORTS-1:0] results;
  for (genvar p = 0; p < PORTS; p++) begin : toward
    skid #(.WIDTH($bits(offer_t))) offers (
        .clk, .rst, .in_valid(step && now[p]), .in_ready(offer_ready[p]),
        .in_data({coin, bound4.fit, bound4.ticket.frame}),
        .out_valid(offer_waits[p]), .out_ready(offer_taken[p]), .out_data(offer[p])
    );
    assign enqueue[p] = order_valid && order.to_queue[p];
    assign offer_taken[p] = enqueue[p] && enqueue_ready[p];
    assign marks[p] = congested(cfg, held[p], offer[p].frame, !NDP);
    assign offered_fit[p] = offer[p].fit;
    assign arriving_loses[p] = offer[p].arriving_loses;
    always_comb begin
      offered[p] = offer[p].frame;
      offered[p].marked = offer[p].frame.marked || marks[p];
    end
    result_t told;
    always_ff @(posedge clk) told <= '{verdict[p], victim_cut[p], marks[p], offer[p].arriving_loses, victim[p]};
    assign results[p] = told;
  end
  assign committed = order.to_queue == 0 || (order.to_queue & enqueue_ready) != 0;

  // Step 7: what became of it.
  result_t result;
  logic valid7;
  order_t order7;
  always_ff @(posedge clk) begin
    valid7 <= order_valid && committed && !rst;
    order7 <= order;
  end
  always_comb begin
    result = '0;
    for (int p = 0; p < PORTS; p++) if (order7.to_queue[p]) result |= results[p];
    if (order7.to_queue == 0) begin
      result.victim.head = order7.cells.head;
      result.victim.body = order7.cells.body;
      result.victim.has_body = order7.cells.has_body;
      result.victim.shared = order7.cells.shared;
    end
  end

  // Step 8: what follows from it.
  logic valid8, dropped8, back8, cut8;
  logic [2:0] port8;
  frame_t victim8;
  always_ff @(posedge clk) begin
    valid8 <= valid7 && !rst;
    dropped8 <= order7.to_queue == 0 || result.verdict == DATA_FULL || result.verdict == CONTROL_FULL;
    back8 <= order7.to_queue != 0 && result.verdict == SENT_BACK;
    cut8 <= result.cut;
    victim8 <= result.victim;
    port8 <= '0;
    for (int p = 0; p < PORTS; p++) if (order7.to_queue[p]) port8 <= 3'(p);
  end

  logic back_valid;
  logic [H-1:0] back_at;
  way_back_t back_now;
  always_ff @(posedge clk) begin
    back_valid <= step && first4 && !bound4.comes_round;
    back_at <= bound4.ticket.frame.head[H-1:0];
    back_now <= '{bound4.ticket.from, bound4.ticket.to_port, bound4.ticket.fragment, bound4.ticket.to, bound4.ticket.v4,
        bound4.ticket.from_ip};
    if (back_valid) ways_back[back_at] <= back_now;
  end

  // A frame that was cut gives the cells of its payload back at once; where it is flooded they come free with the last copy.
  release_t release8;
  logic release8_valid, release8_ready;
  always_comb begin
    release8.head = victim8.head;
    release8.body = victim8.body;
    release8.shared = victim8.shared;
    release8.has_head = dropped8;
    release8.has_body = victim8.has_body && (dropped8 || cut8);
    release8_valid = valid8 && (release8.has_head || release8.has_body);
  end
  short_fifo #(.WIDTH($bits(release_t)), .DEPTH(16)) releases (
      .clk, .rst, .in_valid(release8_valid), .in_ready(release8_ready), .in_data(release8),
      .out_valid(release_valid), .out_ready(release_ready), .out_data(released), .held()
  );
  // Steps stop while eight releases wait, so that those on their way find room.
  logic [4:0] releases_waiting;
  always_ff @(posedge clk) begin
    room_behind <= releases_waiting < 5'd8 && !rst;
    if (rst) releases_waiting <= '0;
    else
      releases_waiting <= releases_waiting + 5'(release8_valid) - 5'(release_valid && release_ready);
  end

  // Step 9: back to the sender.
  logic back9;
  logic [2:0] port9;
  frame_t frame9;
  always_ff @(posedge clk) begin
    back9 <= valid8 && back8 && !rst;
    port9 <= port8;
    frame9 <= victim8;
    if (cut8) frame9.has_body <= 1'b0;
  end
  always_comb begin
    round_in_valid = back9;
    round_in = '{port9, frame9};
  end

  // Counters.
  always_comb begin
    counts_arrival = '0;
    counts_error = '0;
    counts_discard = '0;
    for (int p = 0; p < PORTS; p++) begin
      if (step && first4 && p == int'(bound4.from)) begin
        counts_arrival[p] = !bound4.comes_round && !bound4.ticket.bad;
        counts_error[p] = bound4.ticket.bad;
        counts_discard[p] = !bound4.ticket.bad && bound4.mask == 0;
      end
    end
    arrival_len = bound4.ticket.frame.len;
    arrival_group = bound4.ticket.to[40];
    routed_valid = valid7 && order7.first;
    routed_from = order7.from;
    routed_to = order7.mask;
    offer_valid = valid7 && order7.to_queue != 0;
    offer_port = '0;
    for (int p = 0; p < PORTS; p++) if (order7.to_queue[p]) offer_port = 3'(p);
    offer_verdict = result.verdict;
    offer_cut = result.cut;
    // A frame that a drop-tail queue refuses is not marked.
    offer_marked = result.marked && (NDP || result.verdict == QUEUED);
    offer_coin = result.coin;
  end

`ifdef CHECKS
  always_ff @(posedge clk) begin
    if (!rst) assert (!round_in_valid || round_in_ready);
    if (!rst && valid_bound) assert (bound_ready);
    if (!rst) assert ((order_valid ? order.to_queue & ~offer_waits : '0) == 0 && (!step || (now & ~offer_ready) == 0));
    if (!rst) assert (!release8_valid || release8_ready);
  end
`endif

`ifdef FORMAL_LARGE
  `include "admission_props.svh"
`endif
endmodule

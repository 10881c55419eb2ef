  // Frames are counted from port to port; where lookup sends them has no part in it.
  logic past;
  initial past = 1'b0;
  always_ff @(posedge clk) past <= 1'b1;
  always_comb if (!past) assume (rst);

`ifdef BROKEN
  // A failure is found sooner where every frame is flooded, and where tickets say what they are and where they lie alone.
  always_comb begin
    assume (cfg == config_t'{flood: 1'b1, send_back: 1'b1, default: '0} && fixed == '0 && routes == '0);
    for (int p = 0; p < PORTS; p++) begin
      assume (in[p] == ticket_t'{bad: in[p].bad, frame: in[p].frame, default: '0});
      assume (in[p].frame == frame_t'{head: in[p].frame.head, body: in[p].frame.body, has_body: in[p].frame.has_body,
          kind: in[p].frame.kind, default: '0});
      assume (victim[p] == offered[p]);
    end
  end
`endif

  // Tickets that were granted, and those whose last offer was made.
  logic [6:0] came, went;
  always_ff @(posedge clk) begin
    if (rst) begin
      came <= '0;
      went <= '0;
    end else begin
      came <= came + 7'(round_turn || grant != 0);
      went <= went + 7'(step && (mask4 & ~now) == 0);
    end
  end
  logic stays;
  order_t stays_order;
  offer_t [PORTS-1:0] stays_offer;
  always_ff @(posedge clk) begin
    stays <= !rst && order_valid && !committed;
    stays_order <= order;
    stays_offer <= offer;
  end

  // Only headers that come round are on their way back, and a queue sends none of them back once more: trim_queue proves it.
  function automatic logic well_known(input logic comes_round, input logic [2:0] from, input kind_t kind);
    well_known = comes_round ? kind == RETURNED : int'(from) < PORTS;
  endfunction
  always_comb
    for (int p = 0; p < PORTS; p++)
      if (enqueue[p] && offered[p].kind == RETURNED) assume (verdict[p] != SENT_BACK);

  // One first cell and one payload are followed from the verdict on: headers that are sent back come round, and what is dropped
  // or cut gives its cells back, each once. That the two queues behind give what was put in is proved of short_fifo.
  logic [5:0] sent_back, came_round;
  logic [1:0] to_return, to_release, to_release_body;  // verdicts about the followed ones, and what did not follow from them yet
  cell_t which, which_body;
  logic drops, returns, is_which8, has_which_body8;
  always_comb begin
    drops = valid7 && (order7.to_queue == 0 || result.verdict == DATA_FULL || result.verdict == CONTROL_FULL);
    returns = valid7 && order7.to_queue != 0 && result.verdict == SENT_BACK;
    is_which8 = valid8 && victim8.head == which;
    has_which_body8 = valid8 && victim8.has_body && victim8.body == which_body;
  end
  always_ff @(posedge clk) begin
    which <= which;
    which_body <= which_body;
    if (rst) begin
      sent_back <= '0;
      came_round <= '0;
      to_return <= '0;
      to_release <= '0;
      to_release_body <= '0;
    end else begin
      sent_back <= sent_back + 6'(returns);
      came_round <= came_round + 6'(round_take);
      to_return <= to_return + 2'(returns && result.victim.head == which)
          - 2'(round_in_valid && round_in_ready && round_in.frame.head == which);
      to_release <= to_release + 2'(drops && result.victim.head == which)
          - 2'(release8_valid && release8_ready && release8.has_head && release8.head == which);
      to_release_body <= to_release_body
          + 2'((drops || (valid7 && result.cut)) && result.victim.has_body && result.victim.body == which_body)
          - 2'(release8_valid && release8_ready && release8.has_body && release8.body == which_body);
    end
  end

  // Bad frames go nowhere, and none goes back to where it came from.
  function automatic logic well_bound(input bound_t to);
    well_bound = (!to.ticket.bad || to.mask == 0) && well_known(to.comes_round, to.from, to.ticket.frame.kind);
    for (int p = 0; p < PORTS; p++) if (p == int'(to.from) && to.mask[p]) well_bound = 1'b0;
  endfunction
  // What goes into `bounds` is asserted to be well bound; that it comes out as it went in is proved of short_fifo. Asserted in the
  // cycle in which it goes in: a clocked assertion is checked one cycle later, where what is assumed would hide that it fails.
  always_comb assume (!valid4 || well_bound(bound4));
  always_comb if (past && !rst) begin
    bound_as_they_leave: assert (!valid_bound || well_bound(bound_in));
  end
  function automatic logic well_ordered(input order_t one);
    well_ordered = (one.to_queue & (one.to_queue - 1'b1)) == 0 && (one.to_queue & ~one.mask) == 0;
    for (int p = 0; p < PORTS; p++) if (p == int'(one.from) && one.mask[p]) well_ordered = 1'b0;
  endfunction
  order_t order_behind;
  assign order_behind = orders.words[!orders.head];

  // Headers that may come back: as many as a frame has offers to come and those whose outcome is open, but for headers that
  // come round.
  logic [6:0] may_return;
  bound_t bound_there;
  always_comb begin
    may_return = 7'(PORTS - 1) * (7'(in_ready != 0) + 7'(valid1 && !comes_round1) + 7'(valid2 && !comes_round2)
        + 7'(valid3 && !comes_round3) + 7'(valid_bound && !bound_in.comes_round));
    for (int n = 0; n < BOUNDS; n++) begin
      bound_there = bounds.words[n];
      if (C'((C - 1)'(n - 32'(bounds.head))) < bounds.held && !bound_there.comes_round) begin
        may_return = may_return + 7'(PORTS - 1);
        if ((C - 1)'(n) == bounds.head) for (int p = 0; p < PORTS; p++) may_return = may_return - 7'(offered_before[p]);
      end
    end
    may_return = may_return + 7'(order_valid && order.to_queue != 0 && int'(order.from) != PORTS)
        + 7'(orders.full && order_behind.to_queue != 0 && int'(order_behind.from) != PORTS)
        + 7'(valid7 && order7.to_queue != 0 && int'(order7.from) != PORTS) + 7'(valid8 && back8) + 7'(back9);
  end

  // Each queue's skid buffer holds what the order says.
  logic [PORTS-1:0] offers_fit, offers_known;
  for (genvar p = 0; p < PORTS; p++) begin : checked
    offer_t behind;  // the one that `order_behind` is about
    assign behind = toward[p].offers.words[toward[p].offers.head ^ (order_valid && order.to_queue[p])];
    assign offers_known[p] = (!(order_valid && order.to_queue[p]) || well_known(int'(order.from) == PORTS, order.from, offer[p].frame.kind))
        && (!(orders.full && order_behind.to_queue[p])
            || well_known(int'(order_behind.from) == PORTS, order_behind.from, behind.frame.kind));
    assign offers_fit[p] = 2'(offer_waits[p]) + 2'(toward[p].offers.full)
            == 2'(order_valid && order.to_queue[p]) + 2'(orders.full && order_behind.to_queue[p])
        && (offer_waits[p] || !toward[p].offers.full)
        && toward[p].offers.tail == (toward[p].offers.head ^ (offer_waits[p] && !toward[p].offers.full));
  end

  always_ff @(posedge clk) if (past && !rst) begin
    conserved: assert (came == went + 7'(on_way));
    on_the_way: assert (6'(on_way) == 6'(round_take || in_ready != 0) + 6'(valid1) + 6'(valid2) + 6'(valid3)
        + 6'(valid_bound) + 6'(bounds.held) && on_way <= C'(BOUNDS) && valid4 == (bounds.held != 0));
    kept_in_order: assert ((!orders.full || order_valid) && orders.tail == (orders.head ^ (order_valid && !orders.full))
        && bounds.tail == bounds.head + (C - 1)'(bounds.held));
    one_port_at_a_time: assert ((grant & (grant - 1'b1)) == 0 && (grant & ~in_valid) == 0
        && (in_ready & (in_ready - 1'b1)) == 0 && (!round_take || in_ready == 0));
    offers_follow_the_order: assert (offers_fit == '1);
    one_queue_at_a_time: assert ((enqueue & (enqueue - 1'b1)) == 0);
    within_its_way: assert ((!order_valid || well_ordered(order)) && (!orders.full || well_ordered(order_behind)));
    bad_goes_nowhere: if (valid4 && bound4.ticket.bad) assert (bound4.mask == 0);
    not_back_to_where_it_came_from: if (valid4)
      for (int p = 0; p < PORTS; p++) if (p == int'(bound4.from)) assert (!bound4.mask[p]);
    offered_once: assert (first4 == (offered_before == 0) && (valid4 ? (offered_before & ~bound4.mask) == 0 && (mask4 != 0 || first4)
        : first4));
    waits_unchanged: if (stays) begin
      assert (order_valid && order == stays_order);
      for (int p = 0; p < PORTS; p++) if (order.to_queue[p]) assert (offer_waits[p] && offer[p] == stays_offer[p]);
    end
    headers_first: if (round_valid) assert (grant == 0);
    discard_is_counted: if (step && first4 && bound4.mask == 0)
      assert ((counts_discard | counts_error) != 0 || bound4.comes_round || int'(bound4.from) >= PORTS);
    releases_are_counted: assert (releases_waiting == releases.held && release_valid == (releases.held != 0));
    room_behind_suffices: assert (6'(releases_waiting) + 6'(order_valid) + 6'(orders.full) + 6'(valid7) + 6'(valid8) <= 6'd12
        && (!room_behind || releases_waiting <= 5'd8));
    known_as_they_come: assert ((!valid1 || well_known(comes_round1, from1, ticket1.frame.kind))
        && (!valid2 || well_known(comes_round2, from2, ticket2.frame.kind))
        && (!valid3 || well_known(comes_round3, from3, ticket3.frame.kind)));
    known_as_they_are_offered: assert (offers_known == '1);
    known_when_decided: if (valid7 && int'(order7.from) == PORTS)
      assert (order7.to_queue == 0 || result.verdict != SENT_BACK);
    returns_find_room: assert (7'(round.held) + may_return <= 7'(RETURNS));
    round_is_counted: assert (round_valid == (round.held != 0) && (!round_take || round_valid));
    headers_come_round: assert (sent_back == came_round + 6'(round.held) + 6'(valid8 && back8) + 6'(back9)
        && to_return == 2'(is_which8 && back8) + 2'(back9 && frame9.head == which));
    dropped_cells_come_free: assert (to_release == 2'(is_which8 && dropped8)
        && to_release_body == 2'(has_which_body8 && (dropped8 || cut8)));
    no_queue_overflows: assert ((!release8_valid || release8_ready) && (!valid_bound || bound_ready)
        && (!step || (now & ~offer_ready) == 0) && (!round_in_valid || round_in_ready));
    reached: cover (leave4 && bound4.mask != now);
  end

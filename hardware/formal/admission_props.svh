  // Frames are counted from port to port; where lookup sends them has no part in it.
  logic past;
  initial past = 1'b0;
  always_ff @(posedge clk) past <= 1'b1;
  always_comb if (!past) assume (rst);

  // Tickets that were taken in or came round, and those whose last offer was made.
  logic [6:0] came, went;
  logic takes_in;
  assign takes_in = move1 && (round_valid || grant != 0);
  always_ff @(posedge clk) begin
    if (rst) begin
      came <= '0;
      went <= '0;
    end else begin
      came <= came + 7'(takes_in);
      went <= went + 7'(step && final_step);
    end
  end
  logic stays;
  ticket_t stays_ticket;
  logic [PORTS-1:0] stays_mask;
  always_ff @(posedge clk) begin
    stays <= !rst && valid4 && !step;
    stays_ticket <= ticket4;
    stays_mask <= mask4;
  end

  // Bad frames go nowhere, and none goes back to where it came from.
  function automatic logic well_bound(input bound_t to);
    well_bound = !to.ticket.bad || to.mask == 0;
    for (int p = 0; p < PORTS; p++) if (p == int'(to.from) && to.mask[p]) well_bound = 1'b0;
  endfunction

  always_ff @(posedge clk) if (past && !rst) begin
    bound_as_they_leave: assert ((!bounds.out_valid || well_bound(bound4)) && (!bounds.full || well_bound(bounds.spare)));
    conserved: assert (came == went + 7'(valid1) + 7'(valid2) + 7'(valid3)
        + 7'(bounds.out_valid) + 7'(bounds.full) + 7'(valid4));
    kept_in_order: assert (!bounds.full || bounds.out_valid);
    one_port_at_a_time: assert ((grant & (grant - 1'b1)) == 0 && (grant & ~in_valid) == 0);
    one_queue_at_a_time: assert ((enqueue & (enqueue - 1'b1)) == 0);
    within_its_way: assert ((enqueue & ~mask4_all) == 0 && (!valid4 || (mask4 & ~mask4_all) == 0));
    bad_goes_nowhere: if (valid4 && ticket4.bad) assert (mask4_all == 0);
    not_back_to_where_it_came_from: if (valid4)
      for (int p = 0; p < PORTS; p++) if (p == int'(from4)) assert (!mask4_all[p]);
    waits_unchanged: if (stays) assert (valid4 && ticket4 == stays_ticket && mask4 == stays_mask);
    headers_first: if (move1 && round_valid) assert (grant == 0);
    discard_is_counted: if (step && fresh4 && mask4_all == 0) assert ((counts_discard | counts_error) != 0 || int'(from4) >= PORTS);
    releases_are_counted: assert (6'(releases_waiting) == 6'(releases.count) + 6'(release_valid));
    room_behind_suffices: assert (6'(releases_waiting) + 6'(valid6) <= 6'd9);
    no_queue_overflows: if (release6_valid) assert (release6_ready);
    reached: cover (step && final_step && mask4_all != now);
  end

  logic past;
  initial past = 1'b0;
  always_ff @(posedge clk) past <= 1'b1;
  always_comb begin
    if (!past) assume (rst);
    // Limits in bytes are compared by vectors and random frames.
    assume (!cfg.data_in_bytes);
    assume (in.kind <= FOREIGN);
    assume (cfg.data_limit >= 1 && cfg.data_limit <= DEPTH);
  end
  room_t limit;
  always_ff @(posedge clk) limit <= limit;
  always_comb begin
    assume (cfg.data_limit == limit);
    assume (!done || serving != 0);
    assume (!next || serving == 0 || done);
    assume (!next && !done || (wants && turn));
  end
  // Whether a frame that leaves, or one that comes, had to wait.
  logic leaving_waited, coming_waited;
  always_ff @(posedge clk) begin
    leaving_waited <= !rst && wants && !turn;
    coming_waited <= !rst && in_valid && !in_ready;
  end
  logic [5:0] came, went, lost;
  always_ff @(posedge clk) begin
    if (rst) begin
      came <= '0;
      went <= '0;
      lost <= '0;
    end else begin
      came <= came + 6'(takes);
      went <= went + 6'(next_valid);
      lost <= lost + 6'(takes && !fits);
    end
  end
  // Control frames that wait, one by one.
  logic [C-1:0] control_places;
  frame_t place;
  always_comb begin
    control_places = C'(there && first_control);
    for (int n = 0; n < DEPTH; n++) begin
      place = waiting.words[n];
      if (C'($clog2(DEPTH)'(n - 32'(waiting.head))) < C'(waiting.count) && is_control(place.kind))
        control_places = control_places + 1'b1;
    end
  end
  always_ff @(posedge clk) if (past && !rst) begin
    no_queue_overflows: assert (count <= C'(DEPTH) && (!keeps || room));
    room_is_counted: assert (serving <= 1 && used == room_t'(count) + serving);
    classes_are_counted: assert (controls == control_places && controls <= count);
    limit_holds: assert (used <= cfg.data_limit);
    no_drop_with_room: if (takes && used < cfg.data_limit) assert (verdict == QUEUED);
    one_at_a_time: assert (!takes || (!next_valid && !done));
    both_wait_one_cycle: assert ((!leaving_waited || turn) && (!coming_waited || in_ready));
    conserved: assert (came == went + lost + 6'(count));
  end

  logic past;
  initial past = 1'b0;
  always_ff @(posedge clk) past <= 1'b1;
  always_comb if (!past) assume (rst);

  logic in_service;
  // Settings stay; limits count frames (limits in bytes are compared by vectors and random frames).
  config_t settings;
  always_ff @(posedge clk) settings <= settings;
  always_comb begin
    assume (cfg == settings);
    assume (in_fit == fit_of(cfg, in));
    assume (!cfg.data_in_bytes && !cfg.control_in_bytes);
    assume (cfg.data_limit >= 1 && cfg.data_limit <= DATA_DEPTH);
    assume (cfg.control_limit >= 1 && cfg.control_limit <= CONTROL_DEPTH);
    assume (cfg.control_per_data >= 1 && cfg.control_per_data <= 10);
    assume (in.kind <= FOREIGN);
    assume (len_t'(in.keep) <= in.len && in.len != 0 && in.keep <= 8'(MAX_HEADERS));
    assume (!in.cut);
    // A frame is in service until it is done; the next one may be taken at that moment.
    assume (!done || in_service);
    assume (!next || !in_service || done);
    assume (!next && !done || (wants && turn));
  end
  always_ff @(posedge clk) begin
    if (rst) in_service <= 1'b0;
    else in_service <= next_valid || (in_service && !done);
  end

  // Whether a frame that leaves, or one that comes, had to wait.
  logic leaving_waited, coming_waited;
  always_ff @(posedge clk) begin
    leaving_waited <= !rst && wants && !turn;
    coming_waited <= !rst && in_valid && !in_ready;
  end

  // Frames that came, and what became of them.
  logic [5:0] came, went, lost, back;
  always_ff @(posedge clk) begin
    if (rst) begin
      came <= '0;
      went <= '0;
      lost <= '0;
      back <= '0;
    end else begin
      came <= came + 6'(takes);
      went <= went + 6'(next_valid);
      lost <= lost + 6'(takes && (verdict == DATA_FULL || verdict == CONTROL_FULL));
      back <= back + 6'(takes && verdict == SENT_BACK);
    end
  end

  // Control frames served one after the other while data waited, and data frames while control frames waited.
  logic [7:0] streak;
  logic data_before;
  always_ff @(posedge clk) begin
    if (rst) begin
      streak <= '0;
      data_before <= 1'b0;
    end else if (next_valid) begin
      if (data_next) streak <= '0;
      else if (both) streak <= streak + 1'b1;
      data_before <= data_next && control_count != 0;
    end
  end

  // One frame in each queue is followed by its place.
  logic follow_data, follow_control;
  logic [DA:0] data_ahead;
  logic [CA:0] control_ahead;
  // Where its bytes lie.
  typedef struct packed {
    cell_t head;
    cell_t body;
    logic has_body;
  } place_t;
  function automatic place_t place_of(input frame_t one);
    place_of = '{one.head, one.body, one.has_body};
  endfunction
  place_t secret_data, secret_control;
  logic pick_data, pick_control;
  logic [5:0] when_data, when_control;
  assign pick_data = came == when_data;
  assign pick_control = came == when_control;
  logic replaced;
  assign replaced = takes && swap && follow_data && (DA + 1)'(data_ahead + 1'b1) == data_count;
  always_ff @(posedge clk) begin
    when_data <= when_data;
    when_control <= when_control;
    if (rst) begin
      follow_data <= 1'b0;
      follow_control <= 1'b0;
    end else begin
      if (push_data && pick_data && (!follow_data || replaced)) begin
        follow_data <= 1'b1;
        data_ahead <= swap ? data_count - 1'b1 : data_count;
        secret_data <= place_of(in);
      end else if (replaced || (data_next && data_ahead == 0)) follow_data <= 1'b0;
      else if (data_next && follow_data) data_ahead <= data_ahead - 1'b1;
      if (push_control && pick_control && !follow_control) begin
        follow_control <= 1'b1;
        control_ahead <= control_count;
        secret_control <= place_of(header);
      end else if (control_next && control_ahead == 0) follow_control <= 1'b0;
      else if (control_next && follow_control) control_ahead <= control_ahead - 1'b1;
    end
  end
  logic data_left, control_left;
  always_ff @(posedge clk) begin
    data_left <= !rst && follow_data && data_next && data_ahead == 0;
    control_left <= !rst && follow_control && control_next && control_ahead == 0;
  end

  // Services that a followed frame may still have to wait for: it falls with each of them.
  logic [11:0] data_bound, data_bound_before, control_bound, control_bound_before;
  logic served_data, served_control;
  always_comb begin
    data_bound = 12'(data_ahead) * (12'(cfg.control_per_data) + 12'd1)
        + 12'(cfg.control_per_data) - 12'(round) + 12'd1;
    control_bound = 12'(control_ahead) * 12'd2 + 12'(round == cfg.control_per_data) + 12'd1;
  end
  always_ff @(posedge clk) begin
    data_bound_before <= data_bound;
    control_bound_before <= control_bound;
    served_data <= !rst && follow_data && next_valid && !(data_next && data_ahead == 0);
    served_control <= !rst && follow_control && next_valid && !(control_next && control_ahead == 0);
  end

  // Long control frames that wait, one by one.
  int long_waits;
  always_comb begin
    long_waits = 0;
    for (int n = 0; n < CONTROL_DEPTH; n++)
      if ((CA + 1)'(CA'(n - 32'(control_head))) < control_count && control_lens[n] > len_t'(MAX_HEADERS))
        long_waits = long_waits + 1;
  end

  always_ff @(posedge clk) if (past && !rst) begin
    // Memory.
    no_queue_overflows: assert (data_count <= (DA + 1)'(DATA_DEPTH) && control_count <= (CA + 1)'(CONTROL_DEPTH));
    pointers: assert (data_tail == data_head + DA'(data_count) && control_tail == control_head + CA'(control_count));
    room_is_counted: assert (data_used == 20'(data_count) + serving && control_used == 20'(control_count));
    held_is_counted: assert (held_data == 8'(data_count) + 8'(serving != 0));
    older_is_counted: if (data_count != 0) assert (older == data_used - 20'd1 && newest_trimmed == fit_of(cfg, newest).trimmed);
    service_is_counted: assert (serving <= 1 && (serving == 0 || in_service));
    limits_hold: assert (data_used <= cfg.data_limit && control_used <= cfg.control_limit);
    newest_is_last: if (data_count != 0) assert (newest == data_words[DA'(data_tail - 1'b1)]);
    newest_is_whole: if (data_count != 0) assert (len_t'(newest.keep) <= newest.len && newest.keep <= 8'(MAX_HEADERS) && !newest.cut);
    // Nothing is lost or doubled without its counter.
    conserved: assert (came == went + lost + back + 6'(data_count) + 6'(control_count));
    // The rule.
    control_stays_whole: if (takes && control) assert (!victim_cut && victim == in);
    foreign_stays_whole: if (takes && loser.kind == FOREIGN) assert (!victim_cut && verdict != TRIMMED && verdict != SENT_BACK);
    trimmed_is_valid: if (takes && victim_cut)
      assert (victim.kind == HEADER && victim.len == len_t'(loser.keep) && victim.len <= loser.len
          && victim.cut == (victim.len < loser.len));
    back_only_headers: if (takes && verdict == SENT_BACK) assert (cfg.send_back && victim.kind == HEADER);
    no_drop_with_room: if (takes && control && control_used < cfg.control_limit && (!in_fit.is_long || long_waits != LONG_CONTROL))
      assert (verdict == QUEUED);
    long_is_counted: assert (32'(long_count) == long_waits && long_waits <= LONG_CONTROL);
    trimmed_is_short: if (takes && victim_cut) assert (!header.has_body && header.len <= len_t'(MAX_HEADERS));
    no_trim_with_room: if (takes && !control && data_used < cfg.data_limit) assert (verdict == QUEUED);
    // Service.
    one_at_a_time: assert (!takes || (!next_valid && !done));
    both_wait_one_cycle: assert ((!leaving_waited || turn) && (!coming_waited || in_ready));
    no_idle: if (next && (data_count != 0 || control_count != 0)) assert (next_valid);
    turn_bound: assert (round <= cfg.control_per_data && streak <= round);
    ten_to_one: if (streak == cfg.control_per_data && next_valid && both) assert (data_next);
    turn_begins_anew: if (data_before) assert (round == 0);
    no_two_data: if (data_before && next_valid && control_count != 0) assert (control_next);
    // Order within a class, and content.
    data_place: if (follow_data)
      assert (data_ahead < data_count && place_of(data_words[DA'(data_head + DA'(data_ahead))]) == secret_data);
    control_place: if (follow_control)
      assert (control_ahead < control_count
          && place_of(control_words[CA'(control_head + CA'(control_ahead))]) == secret_control);
    data_in_order: if (data_left) assert (place_of(out) == secret_data);
    control_in_order: if (control_left) assert (place_of(out) == secret_control);
    // Every accepted frame leaves within a bound.
    data_leaves: if (served_data && follow_data) assert (data_bound < data_bound_before);
    control_leaves: if (served_control && follow_control) assert (control_bound < control_bound_before);
    reached_return: cover (takes && verdict == SENT_BACK && swap);
    reached_data_turn: cover (data_next && data_first);
  end

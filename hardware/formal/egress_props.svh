  // A frame that goes into service leaves within a bound, if the memory grants a cell within GRANT cycles and the
  // releaser takes one within RELEASE (cell_turns and round_robin have proofs), the queue listens within two cycles (trim_queue has a
  // proof), and the line takes a beat within LINE.
  // Proved by a potential: it falls in each cycle until the last beat of the frame is on the line.
  localparam int GRANT = 7;
  localparam int RELEASE = 4;
  localparam int LINE = 2;
  localparam int LONGEST = 2 * BANKS + 1;  // beats of the longest frame here: three cells
  localparam int NEAREST = LINE + 12 + GRANT + 1 + RELEASE + 2;  // a cell that is not asked for yet
  localparam int FARTHEST = 2 * NEAREST;
  localparam int EACH = FARTHEST + 1;      // cycles that one beat takes at most
  localparam int BOUND = EACH * (DEPTH + 2 * LONGEST) + FARTHEST;  // a frame is taken while the one before is read

  logic past;
  initial past = 1'b0;
  always_ff @(posedge clk) past <= 1'b1;
  always_comb if (!past) assume (rst);

  logic [3:0] grant_wait, release_wait, line_wait;
  logic turn_waited;  // the queue takes in one frame before it listens
  logic asked;  // a grant comes one cycle behind a request, and none follows another at once but where it may
  always_ff @(posedge clk) begin
    asked <= !rst && begin_request && (!begin_grant || begin_again);
    turn_waited <= !rst && wants && !turn;
    grant_wait <= !rst && begin_request && !begin_grant ? grant_wait + 1'b1 : '0;
    release_wait <= !rst && release_valid && !release_ready ? release_wait + 1'b1 : '0;
    line_wait <= !rst && tx_valid && !tx_ready ? line_wait + 1'b1 : '0;
  end
  always_comb begin
    assume (!begin_grant || asked);
    if (turn_waited) assume (turn);
    assume (!next_valid || next);
    assume (frame.len != 0 && frame.len <= len_t'(LONGEST * BYTES));
    if (grant_wait == GRANT) assume (begin_grant);
    if (release_wait == RELEASE) assume (release_ready);
    if (line_wait == LINE) assume (tx_ready);
`ifdef COVER
    // An example is found sooner where all bytes and fields but the length are zeros.
    assume (read_data == '0 && cfg == '0 && frame == frame_t'{len: frame.len, default: '0});
`endif
  end

  // Beats that were granted and are not on the line yet, by place.
  logic [7:0] unread, on_the_way, outstanding, frame_beats;
  always_comb begin
    unread = busy ? 8'(final_bank) - 8'(bank) + 8'd1 : '0;
    on_the_way = 8'(valid_way[0]) + 8'(valid_way[1]) + 8'(valid_way[2]) + 8'(valid_way[3]) + 8'(valid_way[4])
        + 8'(rewriter.behind_valid) + 8'(rewriter.fresh) + 8'(rewriter.chosen) + 8'(out_valid)
        + 8'(ready_beats.waiting) + 8'(ready_beats.ahead);
    outstanding = 8'(DEPTH) - 8'(room);
    frame_beats = 8'((frame.len + len_t'(BYTES - 1)) / len_t'(BYTES));
  end

  // One frame is followed: `owed` counts its beats and those before them until they are on the line.
  logic [3:0] came, which;
  logic follows, serves, picked, leaves;
  logic [7:0] owed, unasked;
  logic [11:0] age;
  assign picked = service == COMING && came == which && !follows;
  assign unasked = reading ? 8'(beats_left) : '0;  // of the frame that is read
  assign leaves = tx_valid && tx_ready;
  always_ff @(posedge clk) begin
    which <= which;
    if (rst) begin
      came <= '0;
      follows <= 1'b0;
      serves <= 1'b0;
    end else begin
      came <= came + 4'(service == COMING);
      follows <= picked || (follows && owed != 8'(leaves));
      serves <= picked || (serves && !done);
    end
    owed <= (picked ? outstanding + unasked + frame_beats : owed) - 8'(leaves);
    age <= picked ? '0 : age + 1'b1;
  end

  // Cycles until the oldest beat leaves, at most. A beat waits in the rewriter for the next one of its frame.
  logic waits_for_release;
  logic [7:0] behind_it, distance;
  assign waits_for_release = last_cell && !release_room;
  always_comb begin
    if (valid_way[4]) behind_it = 8'(LINE + 6);
    else if (valid_way[3]) behind_it = 8'(LINE + 7);
    else if (valid_way[2]) behind_it = 8'(LINE + 8);
    else if (valid_way[1]) behind_it = 8'(LINE + 9);
    else if (valid_way[0]) behind_it = 8'(LINE + 10);
    else if (busy) behind_it = 8'(LINE + 11);
    else if (reading && !waits_for_release) behind_it = 8'(LINE + 12 + GRANT) - 8'(grant_wait);
    else if (reading) behind_it = 8'(LINE + 12 + GRANT + 1 + RELEASE) - 8'(release_wait);
    else behind_it = 8'(NEAREST);
    if (tx_valid) distance = 8'(LINE) - 8'(line_wait);
    else if (ready_beats.loaded) distance = 8'(LINE + 1);
    else if (ready_beats.waiting != 0) distance = 8'(LINE + 2);
    else if (out_valid) distance = 8'(LINE + 3);
    else if (rewriter.chosen) distance = 8'(LINE + 4);
    else if (rewriter.fresh) distance = 8'(LINE + 5);
    else if (rewriter.behind_valid && rewriter.behind_last) distance = 8'(LINE + 6);
    else distance = behind_it + (rewriter.behind_valid ? 8'd0 : 8'(NEAREST));
  end

  // A first cell and a payload are followed from the queue on: each is given back once, behind its last read.
  cell_t cell_given, body_given;
  logic [1:0] held_cell, held_body;
  always_ff @(posedge clk) begin
    cell_given <= cell_given;
    body_given <= body_given;
    if (rst) begin
      held_cell <= '0;
      held_body <= '0;
    end else begin
      held_cell <= held_cell + 2'(service == COMING && frame.head == cell_given)
          - 2'(release_valid && release_ready && released.has_head && released.head == cell_given);
      held_body <= held_body + 2'(service == COMING && frame.has_body && frame.body == body_given)
          - 2'(release_valid && release_ready && released.has_body && released.body == body_given);
    end
  end

  // The newest beat: if its frame goes on, more of it is still to be read.
  logic newest_goes_on;
  always_comb begin
    if (busy) newest_goes_on = !busy_last;
    else if (valid_way[0]) newest_goes_on = !last_way[0];
    else if (valid_way[1]) newest_goes_on = !last_way[1];
    else if (valid_way[2]) newest_goes_on = !last_way[2];
    else if (valid_way[3]) newest_goes_on = !last_way[3];
    else if (valid_way[4]) newest_goes_on = !last_way[4];
    else newest_goes_on = rewriter.behind_valid && !rewriter.behind_last;
  end

  always_ff @(posedge clk) if (past && !rst) begin
    beats_are_counted: assert (8'(room) + unread + on_the_way == 8'(DEPTH) && 8'(room) <= 8'(DEPTH));
    room_is_known: assert (has_room == (room >= ($clog2(DEPTH) + 1)'(BANKS)));
    a_cell_is_read_to_its_end: if (busy) assert (bank <= final_bank && bank != 0);
    no_queue_overflows: if (out_valid) assert (out_ready);
    something_is_left_to_read: assert ((!reading || (beats_left != 0 && beats_left <= 11'(LONGEST)
        && last_cell == (beats_left <= 11'(BANKS))))
        && (service != WAITING || (upcoming_beats != 0 && upcoming_beats <= 11'(LONGEST))));
    grant_finds_it_ready: if (begin_grant) assert (reading && !busy && room >= ($clog2(DEPTH) + 1)'(BANKS)
        && (!last_cell || release_room));
    asks_until_granted: if (asked) assert (reading && !busy && begin_request);
    front_is_counted: assert (32'(ready_beats.ahead) == 32'(ready_beats.front.held) + 32'(ready_beats.loaded)
        && ready_beats.ahead <= 4 && tx_valid == (ready_beats.front.held != 0));
    takes_its_turn: if (next || done) assert (turn && wants);
    asks_for_its_turn_until_then: if (turn_waited) assert (wants);
    service_reads: if (service == READ) assert (reading);
    more_is_read: if (newest_goes_on) assert (reading);
    waits_are_bounded: assert (grant_wait <= GRANT && release_wait <= RELEASE && line_wait <= LINE);
    waits_belong_to_requests: assert ((grant_wait == 0 || (asked && !waits_for_release))
        && (release_wait == 0 || release_valid) && (line_wait == 0 || tx_valid));
    owed_is_on_its_way: if (follows) assert (owed != 0
        && owed <= outstanding + unasked + (service == WAITING ? 8'(upcoming_beats) : 8'd0));
    service_owes_its_beats: if (serves) assert (follows
        && owed == outstanding + unasked + (service == WAITING ? 8'(upcoming_beats) : 8'd0));
    service_ends_before: if (serves) assert (service == WAITING || service == READ);
    potential_falls: if (follows)
      assert (32'(age) + EACH * 32'(owed) + 32'(distance) <= BOUND && 32'(distance) <= FARTHEST);
    cells_are_given_back: assert (held_cell == 2'(service == WAITING && upcoming.head == cell_given)
        + 2'(reading && held.head == cell_given) + 2'(release_valid && released.has_head && released.head == cell_given)
        && held_body == 2'(service == WAITING && upcoming.has_body && upcoming.body == body_given)
        + 2'(reading && held.has_body && held.body == body_given)
        + 2'(release_valid && released.has_body && released.body == body_given));
    // Every accepted frame leaves within a bound.
    frame_leaves_within_bound: if (follows) assert (32'(age) < BOUND);
    reached: cover (follows && owed == 1 && leaves && !serves);
    reached_full: cover (serves && room == 0);
  end

  // No beat, cell or frame is lost or written twice on the way in. The parser is another one here, which only keeps time, and
  // cells and queues are smaller. What the FIFOs do is proved by themselves.
  localparam int CW = $clog2(CELLS) + 1;
  localparam int DW = $clog2(DEPTH) + 1;

  logic past;
  initial past = 1'b0;
  always_ff @(posedge clk) past <= 1'b1;
  always_comb if (!past) assume (rst);

  logic asked;  // a grant comes one cycle behind a request, and none follows another at once but where it may
  always_ff @(posedge clk) asked <= !rst && begin_request && (!begin_grant || begin_again);
  always_comb begin
    assume (!begin_grant || asked);
    assume (!head_valid || head_ready);
    assume (!body_valid || body_ready);
  end

  // Cells that wait: their beats, and how many of them end a frame.
  logic [CELLS-1:0] holds;
  logic [CW-2:0] cell_order[CELLS];  // by place: words in front of it, modulo CELLS
  logic [B:0] cell_words[CELLS];
  logic [7:0] beats_in_cells, ends_in_cells;
  logic cells_are_sound;
  always_comb begin
    beats_in_cells = '0;
    ends_in_cells = '0;
    cells_are_sound = 1'b1;
    for (int n = 0; n < CELLS; n++) begin
      cell_order[n] = (CW - 1)'(n) - cell_fifo.head;
      holds[n] = cell_order[n] < waiting;
      cell_words[n] = cell_fifo.words[n];
      if (holds[n]) begin
        beats_in_cells = beats_in_cells + 8'(cell_words[n][B-1:0]) + 8'd1;
        ends_in_cells = ends_in_cells + 8'(cell_words[n][B]);
        // A cell that is not full ends its frame.
        cells_are_sound &= cell_words[n][B-1:0] == B'(BANKS - 1) || (cell_words[n][B] && cell_words[n][B-1:0] < B'(BANKS - 1));
      end
    end
  end

  // Beats: all of them, and those that came three cycles ago or before. These can be read from block RAM.
  logic take1, take2;
  logic [7:0] beats_inside, old_beats;
  always_ff @(posedge clk) begin
    take1 <= take && !rst;
    take2 <= take1 && !rst;
  end
  assign beats_inside = 8'(beat_fifo.waiting) + 8'(beat_fifo.ahead);
  assign old_beats = beats_inside - 8'(take1) - 8'(take2);

  // Tickets on their way through the parser.
  logic [7:0] tickets_inside;
  always_comb begin
    tickets_inside = 8'(ticket_fifo.waiting) + 8'(ticket_fifo.ahead) + 8'(parsed_valid);
    for (int n = 0; n < 5; n++) tickets_inside = tickets_inside + 8'(parse.ends[n]);
  end

  // A first cell and a payload are followed from the free lists on: each leaves with the ticket of one frame.
  cell_t cell_given, body_given;
  logic [2:0] placed_order[8];
  logic [3:0] held_cell, held_body, placed_with_cell, placed_with_body;
  always_ff @(posedge clk) begin
    cell_given <= cell_given;
    body_given <= body_given;
    if (rst) begin
      held_cell <= '0;
      held_body <= '0;
    end else begin
      held_cell <= held_cell + 4'(head_ready && head_valid && head_cell == cell_given)
          - 4'(ticket_pop && out.frame.head == cell_given);
      held_body <= held_body + 4'(body_ready && body_valid && body_cell == body_given)
          - 4'(ticket_pop && out.frame.has_body && out.frame.body == body_given);
    end
  end
  always_comb begin
    placed_with_cell = '0;
    placed_with_body = '0;
    for (int n = 0; n < 8; n++) begin
      placed_order[n] = 3'(n) - placed_fifo.head;
      if (placed_order[n] < placed) begin
        placed_with_cell = placed_with_cell + 4'(placed_fifo.words[n][20:11] == cell_given);
        placed_with_body = placed_with_body + 4'(placed_fifo.words[n][0] && placed_fifo.words[n][10:1] == body_given);
      end
    end
  end

  logic in_work;  // a frame has begun and has no place in the queue yet
  assign in_work = busy || number != 0;

  // Cells of the frame that is written, as the packet memory sees them.
  logic [4:0] begun;
  always_ff @(posedge clk) begin
    if (rst || place) begun <= '0;
    else if (begin_grant) begun <= begun + 1'b1;
  end

  // What could be asked for or thrown away in the cycle before.
  logic could_ask;
  logic [1:0] could_refuse;
  always_ff @(posedge clk) begin
    could_ask <= !rst && cell_valid && !beat_pop && !asks && placed <= 4'd3 && (number == 0 ? have_head : have_body && !too_long);
    could_refuse <= rst || refused ? '0 : {could_refuse[0], cell_valid && !busy && too_long};
  end

  always_ff @(posedge clk) if (past && !rst) begin
    // What each FIFO does is proved apart; these are what the proofs below have to know of them.
    fifos_are_sound: assert (cell_fifo.tail == cell_fifo.head + (CW - 1)'(waiting) && cell_valid == (waiting != 0)
        && placed_fifo.tail == placed_fifo.head + 3'(placed) && placed_valid == (placed != 0)
        && beat_fifo.ahead <= 4 && ticket_fifo.ahead <= 4
        && 32'(beat_fifo.ahead) == 32'(beat_fifo.front.held) + 32'(beat_fifo.loaded)
        && beat_valid == (beat_fifo.front.held != 0)
        && 32'(ticket_fifo.ahead) == 32'(ticket_fifo.front.held) + 32'(ticket_fifo.loaded)
        && ticket_valid == (ticket_fifo.front.held != 0));
    room_for_beats: assert (beats <= DW'(DEPTH - 2) && (!take || beats <= DW'(DEPTH - 3)) && (!in_ready || beats <= DW'(DEPTH - 4)));
    room_for_cells: assert (waiting <= CW'(CELLS - 2) && (!take || waiting <= CW'(CELLS - 3))
        && (!in_ready || waiting <= CW'(CELLS - 4)));
    room_for_tickets: assert (tickets <= 6'(TICKETS - 6) && (!take || tickets <= 6'(TICKETS - 7))
        && (!in_ready || tickets <= 6'(TICKETS - 8)));
    room_for_places: assert (placed + 4'(in_work) <= 4'd5 && (!asks || (busy ? !ends_frame_too : in_work) || placed + 4'(in_work) <= 4'd4));
    no_queue_overflows: assert ((!parsed_valid || parsed_ready) && (!place || placed_ready) && (!take || beats_ready)
        && (!cell_in || cell_ready));
    cells_hold_what_they_say: assert (cells_are_sound && in_bank < B'(BANKS));
    // No beat is lost, and none is written twice.
    beats_are_counted: assert (beats_inside == beats_in_cells + (busy ? 8'(left) + 8'd1 : 8'd0) + 8'(in_bank));
    beats_are_read_ahead: assert ((beats <= DW'(take1) || beat_fifo.ahead >= 3)
        && (!beat_fifo.loaded || take2 || beat_fifo.ahead >= 3));
    a_cell_in_work_is_there: assert (!busy || (old_beats >= 8'(left) + 8'd1 && left < B'(BANKS)));
    a_beat_is_there_when_it_is_read: if (beat_pop) assert (beat_valid);
    // A cell begins whole, and has its place in the packet memory.
    asks_near_the_end: if (asks && busy) assert (left == 0 && cell_valid
        && (ends_frame_too ? have_spare : have_body && number < 5'(BODY_CELLS)));
    asks_for_what_waits: if (asks && !busy) assert (cell_valid && (number == 0 ? have_head : have_body && !too_long));
    asks_until_granted: if (asked) assert (asks && !busy && old_beats >= 8'(cell_behind) + 8'd1);
    again_is_one_beat: if (begin_again && asks) assert (cell_valid && cell_behind == 0 && cell_ends_frame && have_spare && placed <= 4'd3
        && waiting > CW'(1));
    grant_finds_it_ready: if (begin_grant) assert (asks && !busy && cell_valid && (number == 0 ? have_head : have_body));
    has_a_cell_to_write: assert ((!have_spare || have_head) && (!busy || have_head)
        && (number == 0 || have_head) && (number == 0 || (number == 1 && !busy) || have_body));
    // Cells of a frame go to places of their own, and what is too long to none.
    cells_are_numbered: assert (number <= 5'(BODY_CELLS + 1) && begun == number + 5'(busy && !too_long)
        && (!begin_grant || number <= 5'(BODY_CELLS)));
    // Each frame has one ticket and one place, in the order in which they came.
    frames_are_counted: assert (8'(tickets) == tickets_inside
        && 8'(tickets) == 8'(placed) + ends_in_cells + 8'(busy && ends_frame_too));
    // Each first cell and each payload that was given leaves once.
    cells_are_kept: assert (held_cell == 4'(have_head && head == cell_given) + 4'(have_spare && spare == cell_given) + placed_with_cell);
    payloads_are_kept: assert (held_body == 4'(have_body && body == body_given) + placed_with_body);
    // A cell that waits asks as soon as there is a place for it, or is thrown away as soon as it can be read.
    no_cell_waits_without_cause: assert ((!could_ask || asks) && (could_refuse != 2'b11 || refused));
    reached: cover (ticket_pop && out.frame.has_body);
    reached_again: cover (begin_grant && begin_again);
    reached_too_long: cover (refused);
  end

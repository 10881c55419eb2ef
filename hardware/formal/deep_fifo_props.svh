  // A word of which nobody knows anything is followed from the way in to the way out. `front` is proved by itself too.
  logic past;
  initial past = 1'b0;
  always_ff @(posedge clk) past <= 1'b1;
  always_comb if (!past) assume (rst);

  localparam int C = A + 2;
  logic [C-1:0] held, in_front;  // words inside; those in front of the one that is followed
  logic follow, pop;           // it is inside
  logic [WIDTH-1:0] secret;
  // Whether this word is the one: any schedule may be chosen.
  logic [7:0] tick, when_;
  logic picks;
  assign picks = tick == when_;
  assign pop = out_valid && out_ready;
  assign held = C'(waiting) + C'(ahead);
  always_ff @(posedge clk) begin
    when_ <= when_;
    if (rst) begin
      follow <= 1'b0;
      tick <= '0;
    end else begin
      if (push) tick <= tick + 1'b1;
      if (push && !follow && picks) begin
        follow <= 1'b1;
        secret <= in_data;
        in_front <= held - C'(pop);
      end else if (follow && pop) begin
        if (in_front == 0) follow <= 1'b0;
        else in_front <= in_front - 1'b1;
      end
    end
  end
  logic [A-1:0] place;
  logic [1:0] front_place;
  assign place = head + A'(in_front - C'(ahead));
  assign front_place = front.head + 2'(in_front);
  always_ff @(posedge clk) if (past && !rst) begin
    bound: assert (waiting <= (A + 1)'(DEPTH) && 32'(ahead) <= AHEAD);
    pointers: assert (tail == head + A'(waiting));
    no_collision: if (push && load) assert (head != tail);
    ahead_is_counted: assert (32'(ahead) == 32'(front.held) + 32'(loaded));
    no_queue_overflows: if (loaded) assert (front_ready);
    has_place: if (follow) assert (in_front < held);
    kept: if (follow) assert (32'(in_front) < 32'(front.held) ? front.words[front_place] == secret
        : 32'(in_front) < 32'(ahead) ? word == secret : words[place] == secret);
    in_order: if (follow && out_valid && in_front == 0) assert (out_data == secret);
`ifndef PART
    reached: cover (follow && out_valid && in_front == 0 && waiting == (A + 1)'(DEPTH));
`endif
  end

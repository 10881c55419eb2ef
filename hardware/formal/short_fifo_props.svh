  // A word of which nobody knows anything is followed from the way in to the way out.
  logic past;
  initial past = 1'b0;
  always_ff @(posedge clk) past <= 1'b1;
  always_comb if (!past) assume (rst);

  logic [A:0] ahead;         // words in front of it
  logic follow;              // it is inside
  logic [WIDTH-1:0] secret;
  // Whether this word is the one: any schedule may be chosen.
  logic [7:0] tick, when_;
  logic picks;
  assign picks = tick == when_;
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
        ahead <= held - (A + 1)'(pop);
      end else if (follow && pop) begin
        if (ahead == 0) follow <= 1'b0;
        else ahead <= ahead - 1'b1;
      end
    end
  end
  logic [A-1:0] place;
  assign place = head + A'(ahead);
  always_ff @(posedge clk) if (past && !rst) begin
    bound: assert (held <= (A + 1)'(DEPTH) && out_valid == (held != 0));
    pointers: assert (tail == head + A'(held));
    no_collision: if (push && out_valid) assert (head != tail);
    has_place: if (follow) assert (ahead < held);
    kept: if (follow) assert (words[place] == secret);
    in_order: if (follow && out_valid && ahead == 0) assert (out_data == secret);
`ifndef PART
    reached: cover (follow && out_valid && ahead == 0 && held == (A + 1)'(DEPTH));
`endif
  end

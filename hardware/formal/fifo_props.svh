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
    if (rst) follow <= 1'b0;
    else begin
      if (push && !follow && picks) begin
        follow <= 1'b1;
        secret <= in_data;
        ahead <= (A + 1)'(held - (A + 2)'(out_valid && out_ready));
      end else if (follow && out_valid && out_ready) begin
        if (ahead == 0) follow <= 1'b0;
        else ahead <= ahead - 1'b1;
      end
    end
  end
  always_ff @(posedge clk) begin
    when_ <= when_;
    if (rst) tick <= '0;
    else if (push) tick <= tick + 1'b1;
  end
  logic [A-1:0] place;
  assign place = head + A'(ahead) - A'(out_valid);
  always_ff @(posedge clk) if (past && !rst) begin
    bound: assert (count <= (A + 1)'(DEPTH));
    no_collision: if (push && load) assert (head != tail);
    pointers: assert (tail == head + A'(count));
    has_place: if (follow) assert ((A + 2)'(ahead) < held);
    kept: if (follow) assert (ahead == 0 && out_valid ? out_data == secret : words[place] == secret);
    in_order: if (follow && out_valid && ahead == 0) assert (out_data == secret);
`ifndef PART
    reached: cover (follow && out_valid && ahead == 0 && count == (A + 1)'(DEPTH));
`endif
  end

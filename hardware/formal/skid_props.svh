  logic past, held_valid;
  logic [WIDTH-1:0] held_data;
  initial past = 1'b0;
  always_ff @(posedge clk) past <= 1'b1;
  always_comb if (!past) assume (rst);

  // Words that went in less words that went out, and one word that is followed.
  logic [1:0] words_in;
  logic follow, second, picks;
  logic [7:0] tick, when_;
  logic [WIDTH-1:0] secret;
  assign picks = tick == when_;
  always_ff @(posedge clk) begin
    when_ <= when_;
    if (rst) begin
      words_in <= '0;
      tick <= '0;
      follow <= 1'b0;
      held_valid <= 1'b0;
    end else begin
      words_in <= words_in + 2'(in_valid && in_ready) - 2'(out_valid && out_ready);
      if (in_valid && in_ready) tick <= tick + 1'b1;
      if (in_valid && in_ready && picks && !follow) begin
        follow <= 1'b1;
        secret <= in_data;
        second <= out_valid && !out_ready;
      end else if (follow && out_valid && out_ready) begin
        second <= 1'b0;
        if (!second) follow <= 1'b0;
      end
      held_valid <= out_valid && !out_ready;
    end
    held_data <= out_data;
  end
  always_ff @(posedge clk) if (past && !rst) begin
    none_lost_or_doubled: assert (words_in == 2'(out_valid) + 2'(full));
    full_behind: assert (!full || out_valid);
    pointers: assert (tail == (head ^ (out_valid && !full)));
    kept: if (follow) assert (second ? full && words[!head] == secret : out_valid && out_data == secret);
    stable: if (held_valid) assert (out_valid && out_data == held_data);
    reached: cover (full && follow);
  end

  logic past;
  initial past = 1'b0;
  always_ff @(posedge clk) past <= 1'b1;
  always_comb if (!past) assume (rst);

  // One requester that keeps asking is passed over at most N - 1 times.
  logic [N-1:0] me;
  logic [$clog2(N):0] passed;
  function automatic int where();
    where = 0;
    for (int n = 0; n < N; n++) if (me[n]) where = n;
  endfunction
  always_ff @(posedge clk) begin
    me <= me;
    if (rst || (grant & me) != 0 || (request & me) == 0) passed <= '0;
    else if (grant != 0) passed <= passed + 1'b1;
  end
  // Those that may still come before: behind the last one that was granted, in turn.
  logic mine_allowed;
  logic [$clog2(N):0] turns_left;
  assign mine_allowed = (allowed & me) != 0;
  always_comb begin
    turns_left = '0;
    for (int n = 0; n < N; n++) begin
      if (mine_allowed ? allowed[n] && n < where() : allowed[n] || n < where())
        turns_left = turns_left + 1'b1;
    end
  end
  always_comb assume (me != 0 && (me & (me - 1'b1)) == 0);
  always_ff @(posedge clk) if (past && !rst) begin
    only_one: assert ((grant & (grant - 1'b1)) == 0);
    only_who_asks: assert ((grant & ~request) == 0);
    no_idle: assert (!enable || request == 0 || grant != 0);
    suffix: assert ((~allowed & N'(~allowed + 1'b1)) == N'(0));
    fair: assert (32'(passed) + 32'(turns_left) <= N - 1);
    reached: cover (passed == ($clog2(N) + 1)'(N - 1));
  end

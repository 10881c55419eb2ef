  // A port that keeps asking begins at last: every other one comes at most twice before it. The grant is seen one cycle later.
  localparam int MOST = 2 * (N - 1) + 1;

  logic past;
  initial past = 1'b0;
  always_ff @(posedge clk) past <= 1'b1;
  always_comb if (!past) assume (rst);

  logic [N-1:0] me, due;  // `due`: whose request counts, one cycle before
  logic [$clog2(MOST):0] waited;    // cycles in which it asks and nobody has granted it
  logic mine, mine_allowed;
  logic [$clog2(N):0] turns_left;   // ports that may still come before it, in turn
  function automatic int where();
    where = 0;
    for (int n = 0; n < N; n++) if (me[n]) where = n;
  endfunction
  assign mine = (grant & me) != 0;
  assign mine_allowed = (turns.allowed & me) != 0;
  always_comb begin
    turns_left = '0;
    for (int n = 0; n < N; n++)
      if (mine_allowed ? turns.allowed[n] && n < where() : turns.allowed[n] || n < where()) turns_left = turns_left + 1'b1;
  end
  always_ff @(posedge clk) begin
    me <= me;
    due <= rst ? '0 : request & ~(grant & ~again);
    if (rst || mine || (request & me) == 0) waited <= '0;
    else waited <= waited + 1'b1;
  end
  always_comb assume (me != 0 && (me & (me - 1'b1)) == 0);
  always_ff @(posedge clk) if (past && !rst) begin
    one_at_a_time: assert ((grant & (grant - 1'b1)) == 0);
    only_who_asked: assert ((grant & ~due) == 0);
    stays_belong_to_grants: assert (!stayed || grant != 0);
    allowed_is_a_suffix: assert ((~turns.allowed & N'(~turns.allowed + 1'b1)) == N'(0));
    who_began_is_the_last: assert (grant == 0 || turns.allowed == ~(grant | (grant - 1'b1)));
    begins_at_last: assert (mine || 32'(waited) + 2 * 32'(turns_left) + 32'(grant != 0 && !stayed) < MOST);
    waits_are_bounded: assert (32'(waited) <= MOST);
    reached: cover (mine && 32'(waited) == MOST);
    reached_again: cover (stays != 0);
  end

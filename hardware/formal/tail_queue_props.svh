  logic past;
  initial past = 1'b0;
  always_ff @(posedge clk) past <= 1'b1;
  always_comb begin
    if (!past) assume (rst);
    assume (cfg.data_limit >= 1 && cfg.data_limit <= DEPTH);
  end
  room_t limit;
  always_ff @(posedge clk) limit <= limit;
  always_comb begin
    assume (cfg.data_limit == limit);
    assume (!done || serving);
    assume (!next || !serving || done);
  end
  logic [5:0] came, went, lost;
  always_ff @(posedge clk) begin
    if (rst) begin
      came <= '0;
      went <= '0;
      lost <= '0;
    end else begin
      came <= came + 6'(in_valid && in_ready);
      went <= went + 6'(next_valid);
      lost <= lost + 6'(in_valid && in_ready && !fits);
    end
  end
  always_ff @(posedge clk) if (past && !rst) begin
    no_queue_overflows: assert (count <= C'(DEPTH) && (!takes || room));
    limit_holds: assert (room_t'(count) + room_t'(serving) <= cfg.data_limit);
    conserved: assert (came == went + lost + 6'(count));
  end
